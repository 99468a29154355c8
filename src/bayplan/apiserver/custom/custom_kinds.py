"""What one version of a CustomResourceDefinition defines: API resource, codec, strategy, printer columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from bayplan.apiserver.codec import Codec
from bayplan.apiserver.custom.custom_codec import CustomCodec
from bayplan.apiserver.custom.custom_strategy import CustomStrategy
from bayplan.apiserver.custom.printing import printer_of_version
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.schema.schemas import Json, Schemas
from bayplan.apiserver.tables import TablePrinter

#: In the order in which kube-apiserver lists them for custom resources.
_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCES: Final = ("status", "scale")


class CustomKind(msgspec.Struct):
    resource: ApiResource
    schema: Json
    codec: Codec
    strategy: RestStrategy
    printer: TablePrinter
    #: JSON paths: specReplicasPath, statusReplicasPath, labelSelectorPath.
    scale: Json


def kinds_of(definition: Object, schemas: Schemas) -> Iterator[CustomKind]:
    """The kinds of all served versions."""
    for version in definition["spec"]["versions"]:
        if version.get("served"):
            yield _kind(definition["spec"], version, schemas)


def _kind(spec: Json, version: Json, schemas: Schemas) -> CustomKind:
    names, parts = spec["names"], version.get("subresources") or {}
    resource = ApiResource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names["singular"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=_VERBS,
        subresources=tuple(name for name in _SUBRESOURCES if name in parts),
        custom=True,
    )
    schema = version["schema"]["openAPIV3Schema"]
    return CustomKind(
        resource=resource,
        schema=schema,
        codec=CustomCodec(resource, schema, schemas),
        strategy=CustomStrategy(version, schema),
        printer=printer_of_version(version),
        scale=parts.get("scale") or {},
    )
