"""Kubernetes' published schemas of each release: the fields of a kind, their types, and how lists are merged.

The definitions are those of the release's OpenAPI document, descriptions included, compressed by
`tools/condense_schemas.py`. They do not say how Go writes a field as JSON; `go-forms-1.37.json` (generated
by `tools/go-forms`) does, for each definition:

    always   fields that are written even when empty (not `omitempty`, or a struct that is not a pointer)
    null     the same for pointers: null is written
    pointer  scalars behind a pointer: zero is written if it was given
    omitzero structs that are omitted when zero
    default  the default of a field
    enum     the values of a field, or of a list's items

A field that is not listed is omitted when zero or empty; a struct that is not listed is a pointer.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final

import msgspec

from bayplan.release import DEFAULT, Release

Json = dict[str, Any]

#: How definitions refer to each other.
REFERENCE: Final = "#/definitions/"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
TIME: Final = _META + "Time"
MICRO_TIME: Final = _META + "MicroTime"
FIELDS: Final = _META + "FieldsV1"
OBJECT_META: Final = _META + "ObjectMeta"
QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
INT_OR_STRING: Final = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
RAW_EXTENSION: Final = "io.k8s.apimachinery.pkg.runtime.RawExtension"
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
JSON: Final = _EXTENSIONS + "JSON"
PROPS: Final = _EXTENSIONS + "JSONSchemaProps"
PROPS_OR_ARRAY: Final = _EXTENSIONS + "JSONSchemaPropsOrArray"
PROPS_OR_BOOL: Final = _EXTENSIONS + "JSONSchemaPropsOrBool"
PROPS_OR_STRINGS: Final = _EXTENSIONS + "JSONSchemaPropsOrStringArray"

#: Fields with arbitrary JSON.
ANYTHING: Final = frozenset({FIELDS, RAW_EXTENSION, JSON, PROPS_OR_ARRAY, PROPS_OR_BOOL, PROPS_OR_STRINGS})
#: Structs in Go, but a single value in JSON.
SCALARS: Final = frozenset({TIME, MICRO_TIME, QUANTITY, INT_OR_STRING})


class GoForm(msgspec.Struct, frozen=True):
    """How Go writes the fields of one definition; see the module docstring."""

    always: frozenset[str] = frozenset()
    null: frozenset[str] = frozenset()
    pointer: frozenset[str] = frozenset()
    omitzero: frozenset[str] = frozenset()
    default: Json = {}
    enum: dict[str, list[str]] = {}


class Schemas:
    """All definitions, by their published names (`io.k8s.api.core.v1.Pod`)."""

    def __init__(self, definitions: Mapping[str, Json], forms: Mapping[str, GoForm]) -> None:
        self.definitions = definitions
        self._forms = forms
        self._by_kind = {
            (kind["group"], kind["version"], kind["kind"]): name
            for name, definition in definitions.items()
            for kind in definition.get("x-kubernetes-group-version-kind", ())
        }

    def definition_of(self, group: str, version: str, kind: str) -> str | None:
        """The definition of a kind."""
        return self._by_kind.get((group, version, kind))

    def form(self, definition: str) -> GoForm:
        return self._forms.get(definition) or GoForm()

    def node(self, definition: str) -> DefinitionNode:
        return DefinitionNode({"$ref": REFERENCE + definition}, self)


class DefinitionNode:
    """The type of one value in its context: extensions of a field and of its type together.

    Made from published schemas and from those of CustomResourceDefinitions alike.
    """

    def __init__(self, schema: Json, schemas: Schemas | None = None, default: Any = None) -> None:
        reference = schema.get("$ref", "")
        #: The definition's name; empty for an inline type.
        self.definition: str = reference.rpartition("/")[2]
        self._schemas = schemas
        self.schema: Json = schema
        if schemas is not None and reference:
            self.schema = {**schemas.definitions[self.definition], **schema}
        self._default = default
        self._children: dict[str, DefinitionNode | None] = {}

    @cached_property
    def kind(self) -> str:
        """`object`, `array`, `string`, `integer`, `number`, `boolean`, `scalar`; empty where anything goes."""
        if self.definition in SCALARS or self.schema.get("x-kubernetes-int-or-string"):
            return "scalar"
        if self.definition in ANYTHING:
            return ""
        return str(self.schema.get("type", ""))

    def child(self, field: str) -> DefinitionNode | None:
        """The type of a struct field or of a map value; None if there can be no such field."""
        try:
            return self._children[field]
        except KeyError:
            child = self._children[field] = self._find_child(field)
            return child

    def _find_child(self, field: str) -> DefinitionNode | None:
        properties = self.schema.get("properties", {})
        if field in properties:
            return DefinitionNode(properties[field], self._schemas, self._default_of(field, properties[field]))
        values = self.schema.get("additionalProperties")
        if isinstance(values, dict):
            return DefinitionNode(values, self._schemas)
        open_ended = values is True or self.schema.get("x-kubernetes-preserve-unknown-fields")
        return DefinitionNode({}) if open_ended or not self.kind else None

    def _default_of(self, field: str, schema: Json) -> Any:
        if self._schemas is None or not self.definition:
            return schema.get("default")
        form = self._schemas.form(self.definition)
        if field in form.always and field not in form.default and "$ref" not in schema:
            return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(schema["type"])
        return form.default.get(field)

    def declares(self, field: str) -> bool:
        """Whether this is a struct with that field, and not a map with that key."""
        return field in self.schema.get("properties", {})

    def item(self) -> DefinitionNode:
        """The type of the list's elements."""
        return self._item

    @cached_property
    def _item(self) -> DefinitionNode:
        items = self.schema.get("items")
        return DefinitionNode(items if isinstance(items, dict) else {}, self._schemas)

    @property
    def default(self) -> Any:
        """The default of a field; None if there is none."""
        return self._default

    @property
    def patch_strategy(self) -> str:
        """Empty, `merge`, `replace`, `retainKeys` or `merge,retainKeys`."""
        return str(self.schema.get("x-kubernetes-patch-strategy", ""))

    @property
    def merge_key(self) -> str:
        """The field that identifies elements of a merged list; empty for lists of scalars."""
        return str(self.schema.get("x-kubernetes-patch-merge-key", ""))

    @cached_property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`; without an extension, what the patch strategy implies."""
        declared = self.schema.get("x-kubernetes-list-type")
        if declared or "merge" not in self.patch_strategy.split(","):
            return str(declared or "atomic")
        return "map" if self.merge_key else "set"

    @cached_property
    def list_map_keys(self) -> tuple[str, ...]:
        """For a `map` list: the fields that identify elements."""
        declared = self.schema.get("x-kubernetes-list-map-keys")
        if declared:
            return tuple(declared)
        return (self.merge_key,) if self.list_type == "map" and self.merge_key else ()

    @cached_property
    def is_atomic(self) -> bool:
        """Whether the map or list has one owner: its parts are never merged."""
        if self.kind == "array":
            return self.list_type == "atomic"
        return self.schema.get("x-kubernetes-map-type") == "atomic" or self.definition == RAW_EXTENSION


def published(release: Release = DEFAULT) -> Schemas:
    """The schemas of a release, read once (about ten milliseconds)."""
    return _published(release.minor)


@cache
def _published(minor: str) -> Schemas:
    folder = resources.files(__package__)
    condensed = msgspec.json.decode(gzip.decompress(folder.joinpath(f"definitions-{minor}.json.gz").read_bytes()))
    forms = msgspec.json.decode(folder.joinpath(f"go-forms-{minor}.json").read_bytes(), type=dict[str, GoForm])
    return Schemas(condensed["definitions"], forms)
