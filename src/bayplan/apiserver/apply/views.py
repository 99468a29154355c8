"""What each way into an object cannot write, so that nobody owns it through there."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.apply.fields import FieldSet
from bayplan.apiserver.apply.ownership import View
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.schema_view import SchemaNode

_STATUS: Final[FieldSet] = {"f:status": {}}
_SPEC: Final[FieldSet] = {"f:spec": {}}
#: Kinds whose status can be written with less of the metadata than others.
_THROUGH_STATUS: Final[dict[tuple[str, str], FieldSet]] = {
    ("", "Pod"): {**_SPEC, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}},
    ("apps", "Deployment"): {**_SPEC, "f:metadata": {"f:labels": {}}},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {**_SPEC, "f:metadata": {}},
}


def view_of(resource: Resource, schema: SchemaNode, subresource: str = "") -> View:
    """The view of a resource, or of its status."""
    return View(schema, resource.api_version, subresource, _reset(resource, subresource))


def _reset(resource: Resource, subresource: str) -> FieldSet:
    if subresource == "status":
        if resource.custom:
            return {**_SPEC, "f:metadata": {}}
        return _THROUGH_STATUS.get((resource.group, resource.kind), _SPEC)
    return _STATUS if "status" in resource.subresources and not subresource else {}
