"""Fields that a resource or its status endpoint cannot write; its writers never own them."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.apply.fields import FieldSet
from bayplan.apiserver.apply.ownership import WriteTarget
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.schema.schema_node import SchemaNode

_STATUS: Final[FieldSet] = {"f:status": {}}
_SPEC: Final[FieldSet] = {"f:spec": {}}
#: Kinds whose status endpoint can write less of the metadata than that of others.
_THROUGH_STATUS: Final[dict[tuple[str, str], FieldSet]] = {
    ("", "Pod"): {**_SPEC, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
    ("apps", "Deployment"): {**_SPEC, "f:metadata": {"f:labels": {}}},
    ("resource.k8s.io", "ResourceClaim"): {**_SPEC, "f:metadata": {}},
    ("resource.k8s.io", "DeviceTaintRule"): {**_SPEC, "f:metadata": {}},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {**_SPEC, "f:metadata": {}},
}


def target_of(resource: ApiResource, schema: SchemaNode, subresource: str = "") -> WriteTarget:
    """The write target of a resource, or of its status."""
    return WriteTarget(schema, resource.api_version, subresource, _reset(resource, subresource))


def _reset(resource: ApiResource, subresource: str) -> FieldSet:
    if subresource == "status":
        if resource.custom:
            return {**_SPEC, "f:metadata": {}}
        return _THROUGH_STATUS.get((resource.group, resource.kind), _SPEC)
    return _STATUS if "status" in resource.subresources and not subresource else {}
