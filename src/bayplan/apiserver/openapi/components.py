"""Published definitions as OpenAPI v3 (`components`) and v2 (`definitions`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from bayplan.apiserver.schema.schemas import (
    ANYTHING,
    INT_OR_STRING,
    OBJECT_META,
    QUANTITY,
    REFERENCE,
    SCALARS,
    GoForm,
    Json,
    Schemas,
)

#: The prefix of references, by the major version of the document.
PLACES: Final = {3: "#/components/schemas/", 2: "#/definitions/"}
#: Version 2 can only say `string`.
_UNIONS: Final = {QUANTITY: ("string", "number"), INT_OR_STRING: ("integer", "string")}


class OpenApiComponents:
    """The definitions as one version of OpenAPI writes them."""

    def __init__(self, schemas: Schemas, version: int) -> None:
        self._schemas = schemas
        self._version = version
        self._place = PLACES[version]
        self._made: dict[str, Json] = {}

    def closure(self, names: Iterable[str]) -> dict[str, Json]:
        """The named definitions and everything they refer to."""
        found: dict[str, Json] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self._definition(name)
                waiting += _references(self._schemas.definitions[name])
        return dict(sorted(found.items()))

    def _definition(self, name: str) -> Json:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._convert_definition(name)
        return made

    def _convert_definition(self, name: str) -> Json:
        published, form = self._schemas.definitions[name], self._schemas.form(name)
        converted: Json = self._convert({key: published[key] for key in published if key != "properties"})
        if name in _UNIONS and self._version == 3:
            del converted["type"]
            converted["oneOf"] = [{"type": each} for each in _UNIONS[name]]
        if "properties" in published:
            converted["properties"] = {
                field: self._field(field, schema, form) for field, schema in published["properties"].items()
            }
        return converted

    def _field(self, field: str, schema: Json, form: GoForm) -> Json:
        converted: Json = self._convert(schema)
        if self._version == 2:
            return converted
        if field in form.enum:
            converted.get("items", converted)["enum"] = form.enum[field]
        default = form.default.get(field, _zero(converted) if field in form.always else None)
        if default is not None:
            converted["default"] = default
        return _wrapped(converted)

    def _convert(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self._convert(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        return {
            key: self._place + value.removeprefix(REFERENCE) if key == "$ref" else self._convert(value)
            for key, value in schema.items()
        }


def _zero(schema: Json) -> Any:
    if "$ref" in schema:
        is_struct = schema["$ref"].rpartition("/")[2] not in SCALARS | ANYTHING
        return {} if is_struct else None
    return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(schema.get("type", ""))


def _wrapped(schema: Json) -> Json:
    """OpenAPI v3 allows no siblings of a reference."""
    if "$ref" not in schema or len(schema) == 1:
        return schema
    return {**{key: schema[key] for key in schema if key != "$ref"}, "allOf": [{"$ref": schema["$ref"]}]}


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _references(each)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(REFERENCE)
            else:
                yield from _references(value)


def custom_definition(structural: Json, place: str, kind: Json, published: Json) -> Json:
    """The schema of a CustomResourceDefinition with the common fields of objects, described as in `published`."""
    fields = published["properties"]
    meta = {"description": fields["metadata"]["description"], "allOf": [{"$ref": place + OBJECT_META}]}
    common = {
        name: {"description": fields[name]["description"], "type": "string"} for name in ("apiVersion", "kind")
    }
    properties = {**structural.get("properties", {}), **common, "metadata": meta}
    return {**structural, "properties": properties, "x-kubernetes-group-version-kind": [kind]}
