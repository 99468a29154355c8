"""Kubernetes' published schemas of 1.36: which fields a kind has, of which types, and how lists are merged.

The schemas come from the package `kubernetes-validate`, descriptions included. They do not tell how Go writes a
field as JSON, so that is told by `go_forms.json` (made by `tools/go-forms`), for each definition:

    always   fields that are written even when they hold nothing (not `omitempty`, or a struct that is no pointer)
    null     the same for pointers: null is written
    pointer  scalars behind a pointer: zero is written if it was given
    omitzero structs that are left out when they are zero
    default  what a field is when it is left out
    enum     the values of a field, or of a list's items

A field that is not named is left out when it is zero or empty; a struct not named is a pointer.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec

Json = dict[str, Any]

_FILE: Final = "kubernetes-json-schema/v1.36.0-local/_definitions.json"
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

#: Where any JSON may stand.
ANYTHING: Final = frozenset({FIELDS, RAW_EXTENSION, JSON, PROPS_OR_ARRAY, PROPS_OR_BOOL, PROPS_OR_STRINGS})
#: Structs to Go, one value to everybody else.
SCALARS: Final = frozenset({TIME, MICRO_TIME, QUANTITY, INT_OR_STRING})


class SchemasMissingError(Exception):
    """The package with the schemas is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "the embedded cluster needs Kubernetes' schemas; install them: pip install 'bayplan[cluster]'"
        )


class Form(msgspec.Struct, frozen=True):
    """How Go writes the fields of one definition; see above."""

    always: frozenset[str] = frozenset()
    null: frozenset[str] = frozenset()
    pointer: frozenset[str] = frozenset()
    omitzero: frozenset[str] = frozenset()
    default: Json = {}
    enum: dict[str, list[str]] = {}


class Schemas:
    """All definitions, by their published names (`io.k8s.api.core.v1.Pod`)."""

    def __init__(self, definitions: Mapping[str, Json], forms: Mapping[str, Form]) -> None:
        self.definitions = definitions
        self._forms = forms
        self._by_kind = {
            (kind["group"], kind["version"], kind["kind"]): name
            for name, definition in definitions.items()
            for kind in definition.get("x-kubernetes-group-version-kind", ())
        }

    def definition_of(self, group: str, version: str, kind: str) -> str | None:
        """The name of a kind's definition."""
        return self._by_kind.get((group, version, kind))

    def form(self, definition: str) -> Form:
        return self._forms.get(definition) or Form()

    def node(self, definition: str) -> Node:
        return Node({"$ref": f"#/$defs/{definition}"}, self)


class Node:
    """The type of one value, as seen from where it stands: marks of a field and of its type together.

    Made from published schemas and from those of CustomResourceDefinitions alike.
    """

    def __init__(self, schema: Json, schemas: Schemas | None = None, default: Any = None) -> None:
        reference = schema.get("$ref", "")
        #: The definition's name; empty for a type that stands in place.
        self.definition: str = reference.rpartition("/")[2]
        self._schemas = schemas
        self.schema: Json = schema
        if schemas is not None and reference:
            self.schema = {**schemas.definitions[self.definition], **schema}
        self._default = default
        self._children: dict[str, Node | None] = {}

    @cached_property
    def kind(self) -> str:
        """`object`, `array`, `string`, `integer`, `number`, `boolean`, `scalar`; empty where anything goes."""
        if self.definition in SCALARS or self.schema.get("x-kubernetes-int-or-string"):
            return "scalar"
        if self.definition in ANYTHING:
            return ""
        kind = self.schema.get("type", "")
        return str(kind[0] if isinstance(kind, list) else kind)

    def child(self, field: str) -> Node | None:
        """The type of a field of a struct or of a value of a map; None if there can be no such field."""
        try:
            return self._children[field]
        except KeyError:
            child = self._children[field] = self._find_child(field)
            return child

    def _find_child(self, field: str) -> Node | None:
        properties = self.schema.get("properties", {})
        if field in properties:
            return Node(properties[field], self._schemas, self._default_of(field, properties[field]))
        values = self.schema.get("additionalProperties")
        if isinstance(values, dict):
            return Node(values, self._schemas)
        open_ended = values is True or self.schema.get("x-kubernetes-preserve-unknown-fields")
        return Node({}) if open_ended or not self.kind else None

    def _default_of(self, field: str, schema: Json) -> Any:
        if self._schemas is None or not self.definition:
            return schema.get("default")
        form = self._schemas.form(self.definition)
        if field in form.always and field not in form.default and "$ref" not in schema:
            kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
            return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(kind)
        return form.default.get(field)

    def declares(self, field: str) -> bool:
        """Whether it is a struct and the field one of its own, and not just a key of a map."""
        return field in self.schema.get("properties", {})

    def item(self) -> Node:
        """The type of a list's elements."""
        return self._item

    @cached_property
    def _item(self) -> Node:
        items = self.schema.get("items")
        return Node(items if isinstance(items, dict) else {}, self._schemas)

    @property
    def default(self) -> Any:
        """What a field is if it is left out; None if there is no default."""
        return self._default

    @property
    def patch_strategy(self) -> str:
        """Empty, `merge`, `replace`, `retainKeys` or `merge,retainKeys`."""
        return str(self.schema.get("x-kubernetes-patch-strategy", ""))

    @property
    def merge_key(self) -> str:
        """The field that tells elements of a merged list apart; empty for lists of scalars."""
        return str(self.schema.get("x-kubernetes-patch-merge-key", ""))

    @cached_property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`; where the schema says nothing, what the patch strategy implies."""
        told = self.schema.get("x-kubernetes-list-type")
        if told or "merge" not in self.patch_strategy.split(","):
            return str(told or "atomic")
        return "map" if self.merge_key else "set"

    @cached_property
    def list_map_keys(self) -> tuple[str, ...]:
        """Of a `map` list: the fields that tell elements apart."""
        told = self.schema.get("x-kubernetes-list-map-keys")
        if told:
            return tuple(told)
        return (self.merge_key,) if self.list_type == "map" and self.merge_key else ()

    @cached_property
    def is_atomic(self) -> bool:
        """Whether the map or list has one owner: its parts are never merged."""
        if self.kind == "array":
            return self.list_type == "atomic"
        return self.schema.get("x-kubernetes-map-type") == "atomic" or self.definition == RAW_EXTENSION


@lru_cache(maxsize=1)
def published() -> Schemas:
    """The schemas of the package, read once (some ten milliseconds)."""
    definitions = msgspec.json.decode(_file().read_bytes())["$defs"]
    text = resources.files("bayplan.apiserver").joinpath("go_forms.json").read_bytes()
    return Schemas(definitions, msgspec.json.decode(text, type=dict[str, Form]))


def _file() -> Path:
    # The package itself is not imported: that would bring in a validator that nobody here asks.
    spec = importlib.util.find_spec("kubernetes_validate")
    places = (spec.submodule_search_locations if spec else None) or ()
    found = next((file for place in places if (file := Path(place) / _FILE).exists()), None)
    if found is None:
        raise SchemasMissingError
    return found
