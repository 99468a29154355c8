"""Bodies of requests about custom resources."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.apiserver.causes import invalid as invalid_value
from bayplan.apiserver.codec import Codec, Decoded, unrecognized
from bayplan.apiserver.codec.compile import Compiler
from bayplan.apiserver.codec.findings import unknown_fields
from bayplan.apiserver.codec.mismatch import MalformedError
from bayplan.apiserver.custom.structure import conformed
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.schemas import OBJECT_META, Json, Node, Schemas
from bayplan.apiserver.status import bad_request, invalid
from bayplan.apiserver.strategy import Object

_STRING: Final = {"type": "string"}


class CustomCodec(Codec):
    """Reads objects of one custom resource. Here kind and apiVersion may not be left out."""

    def __init__(self, resource: Resource, schema: Json, schemas: Schemas) -> None:
        meta = Compiler(schemas).struct(OBJECT_META)
        super().__init__(
            api_version=resource.api_version,
            kind=resource.kind,
            convert=lambda value, unknown: meta(value, unknown),
            node=_node(schema, schemas),
            schemas=schemas,
        )
        self._group = resource.group
        self._schema = schema
        self._meta_node = schemas.node(OBJECT_META)

    def decode(self, value: object, *, collect_unknown: bool = False) -> Decoded:
        """The object pruned, with defaults; unknown fields are sorted, as kube-apiserver has them."""
        if not isinstance(value, dict):
            raise self.no_object(value)
        self._check_type(value)
        metadata = value.get("metadata") or {}
        places: list[str] = []
        obj = conformed(self._schema, value, places)
        try:
            obj["metadata"] = self._convert(metadata, [])
        except MalformedError as malformed:
            raise self.refusal(str(malformed)) from None
        if not collect_unknown:
            return Decoded(obj, [])
        within = unknown_fields(self._meta_node, metadata, "metadata")
        return Decoded(obj, sorted([*within, *(f'unknown field "{place}"' for place in places)]))

    needs_kind = True

    def zero(self) -> Object:
        """Nothing is written that was not given; defaults are not part of it."""
        return {"kind": self.kind, "apiVersion": self.api_version, "metadata": {}}

    def _check_type(self, value: Json) -> None:
        kind, api_version = value.get("kind"), value.get("apiVersion")
        if not kind:
            body = msgspec.json.encode(value)
            raise unrecognized(self.kind, f"Object 'Kind' is missing in '{body.decode()}'", body)
        if api_version != self.api_version:
            found, wanted = api_version or "", self.api_version
            raise bad_request(
                f"the API version in the data ({found}) does not match the expected API version ({wanted})"
            )
        if kind != self.kind:
            name = (value.get("metadata") or {}).get("name", "")
            raise invalid(self._group, str(kind), name, [invalid_value("kind", kind, f"must be {self.kind}")])


def _node(schema: Json, schemas: Schemas) -> Node:
    own = {"apiVersion": _STRING, "kind": _STRING, "metadata": {"$ref": f"#/$defs/{OBJECT_META}"}}
    return Node({**schema, "properties": {**schema.get("properties", {}), **own}}, schemas)
