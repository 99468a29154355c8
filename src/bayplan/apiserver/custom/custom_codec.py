"""Decodes request bodies of custom resources."""

from __future__ import annotations

from typing import Final

import msgspec

from bayplan.apiserver.api_errors import bad_request, invalid
from bayplan.apiserver.codec import Codec, Decoded, unrecognized
from bayplan.apiserver.codec.compile import Compiler
from bayplan.apiserver.codec.findings import unknown_fields
from bayplan.apiserver.codec.mismatch import MalformedValueError
from bayplan.apiserver.custom.structure import conformed
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.schema.schemas import OBJECT_META, DefinitionNode, Json, Schemas
from bayplan.apiserver.validation.field_errors import invalid as invalid_value

_STRING: Final = {"type": "string"}


class CustomCodec(Codec):
    """Decodes objects of one custom resource, whose kind and apiVersion must be given."""

    def __init__(self, resource: ApiResource, schema: Json, schemas: Schemas) -> None:
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
        """The object pruned and defaulted; unknown fields are sorted, as in kube-apiserver."""
        if not isinstance(value, dict):
            raise self.no_object(value)
        self._check_type(value)
        metadata = value.get("metadata") or {}
        field_paths: list[str] = []
        obj = conformed(self._schema, value, field_paths)
        try:
            obj["metadata"] = self._convert(metadata, [])
        except MalformedValueError as malformed:
            raise self.refusal(str(malformed)) from None
        if not collect_unknown:
            return Decoded(obj, [])
        within = unknown_fields(self._meta_node, metadata, "metadata")
        return Decoded(obj, sorted([*within, *(f'unknown field "{field_path}"' for field_path in field_paths)]))

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


def _node(schema: Json, schemas: Schemas) -> DefinitionNode:
    own = {"apiVersion": _STRING, "kind": _STRING, "metadata": {"$ref": f"#/$defs/{OBJECT_META}"}}
    return DefinitionNode({**schema, "properties": {**schema.get("properties", {}), **own}}, schemas)
