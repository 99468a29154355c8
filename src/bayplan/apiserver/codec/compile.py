"""Compiles schemas to functions that convert a decoded JSON value to the form in which Go would write it.

Unknown fields and nulls are dropped, and so is what Go omits when empty; what Go always writes is filled in;
numbers, quantities and times get their canonical form. The result shares string maps and free-form values with
the input.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from bayplan.apiserver.codec import values
from bayplan.apiserver.codec.mismatch import MismatchError
from bayplan.apiserver.schema import schemas
from bayplan.apiserver.schema.schemas import Json, Schemas

#: Takes a value that is not null, and a list to which the names of unknown fields are added.
Convert: TypeAlias = Callable[[Any, list[str]], Any]


class _StructType(NamedTuple):
    convert: Convert
    #: Replaces a null in a list or map, and an `always` field that is missing.
    zero: Callable[[], Any]
    #: Go's name of the type.
    name: str


class _StructField(NamedTuple):
    #: The class of a plain value that is taken unchanged; unused if there is a `convert`.
    plain: type | None
    convert: Convert | None
    keeps_zero: bool


def _scalar(convert: Callable[[Any], Any], zero: Any, name: str) -> _StructType:
    return _StructType(lambda value, unknown: convert(value), lambda: zero, name)


_STRING: Final = _scalar(values.text, "", "string")
_BOOLEAN: Final = _scalar(values.boolean, False, "bool")
_BYTES: Final = _scalar(values.octets, "", "[]uint8")
_NUMBERS: Final = {
    "int32": _scalar(values.int32, 0, "int32"),
    "int64": _scalar(values.int64, 0, "int64"),
    "double": _scalar(values.number, 0, "float64"),
}
_ANYTHING: Final = _scalar(lambda value: value, None, "interface {}")
_SPECIAL: Final = {
    schemas.TIME: _scalar(values.time, None, "v1.Time"),
    schemas.MICRO_TIME: _scalar(values.micro_time, None, "v1.MicroTime"),
    schemas.QUANTITY: _scalar(values.quantity, "0", "resource.Quantity"),
    schemas.INT_OR_STRING: _scalar(values.int_or_string, 0, "intstr.IntOrString"),
    schemas.RAW_EXTENSION: _ANYTHING,
    schemas.FIELDS: _ANYTHING,
    schemas.JSON: _ANYTHING,
}
_PLAIN: Final = {id(_STRING): str, id(_BOOLEAN): bool}


class Compiler:
    """Compiles one function for each definition, on first use."""

    def __init__(self, published: Schemas) -> None:
        self._schemas = published
        self._structs: dict[str, _StructType] = {}

    def struct(self, definition: str) -> Convert:
        return self._struct(definition).convert

    def _struct(self, definition: str) -> _StructType:
        made = self._structs.get(definition)
        return made if made is not None else self._make_struct(definition)

    def _make_struct(self, definition: str) -> _StructType:
        fields: dict[str, _StructField] = {}
        always: Json = {}
        nested: list[tuple[str, Callable[[], Any]]] = []
        *_, version, name = definition.split(".")
        convert = _struct_converter(name, f"{version}.{name}", fields, always, nested)
        made = _StructType(convert, lambda: convert({}, []), f"{version}.{name}")
        # Registered before its fields are compiled: some definitions contain themselves.
        self._structs[definition] = made
        form = self._schemas.form(definition)
        for field, schema in self._schemas.definitions[definition].get("properties", {}).items():
            type_ = self._type(schema)
            fields[field] = _StructField(_PLAIN.get(id(type_)), type_.convert, _keeps_zero(field, schema, form))
            if id(type_) in _PLAIN:
                fields[field] = fields[field]._replace(convert=None)
            if field in form.always:
                _fill_always(field, schema, type_, always, nested)
            elif field in form.null:
                always[field] = None
        return made

    def _type(self, schema: Json) -> _StructType:
        if "$ref" in schema:
            return self._referred(schema["$ref"].rpartition("/")[2])
        kind = schema.get("type", "")
        if kind == "array":
            return _list(self._type(schema["items"]))
        if kind == "object":
            inner = schema.get("additionalProperties")
            return _map(self._type(inner)) if isinstance(inner, dict) else _ANYTHING
        if kind == "string":
            return _BYTES if schema.get("format") == "byte" else _STRING
        if kind == "boolean":
            return _BOOLEAN
        return _NUMBERS[schema.get("format", "double")]

    def _referred(self, definition: str) -> _StructType:
        if definition in _SPECIAL:
            return _SPECIAL[definition]
        if definition in schemas.ANYTHING:
            return self._either(definition)
        return self._struct(definition)

    def _either(self, definition: str) -> _StructType:
        """The three union types in a CustomResourceDefinition's schema."""
        props = self._struct(schemas.PROPS)

        def convert(value: Any, unknown: list[str]) -> Any:
            if value.__class__ is dict:
                return props.convert(value, unknown)
            if value.__class__ is list and definition == schemas.PROPS_OR_ARRAY:
                return [props.convert(item, unknown) for item in value]
            return value

        return _StructType(convert, lambda: None, props.name)


def _keeps_zero(field: str, schema: Json, form: schemas.GoForm) -> bool:
    """Whether a given zero is written. Empty lists and maps never are: storage drops them."""
    if "$ref" in schema:
        return field not in form.omitzero
    kind = schema.get("type", "")
    if "array" in kind or "object" in kind:
        return False
    return field in form.always or field in form.null or field in form.pointer


def _fill_always(
    field: str, schema: Json, type_: _StructType, always: Json, nested: list[tuple[str, Callable[[], Any]]]
) -> None:
    definition = schema.get("$ref", "").rpartition("/")[2]
    if definition and definition not in _SPECIAL:
        nested.append((field, type_.zero))
    elif schema.get("format") == "byte":
        always[field] = None
    else:
        always[field] = type_.zero()


def _struct_converter(
    name: str,
    go_type: str,
    fields: dict[str, _StructField],
    always: Json,
    nested: list[tuple[str, Callable[[], Any]]],
) -> Convert:
    def convert(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not dict:
            raise MismatchError(value, go_type)
        out = always.copy()
        key = ""
        try:
            for key, item in value.items():
                field = fields.get(key)
                if field is None:
                    unknown.append(key)
                    continue
                if item is None:
                    continue
                plain, convert_item, keeps_zero = field
                if convert_item is not None:
                    item = convert_item(item, unknown)
                elif item.__class__ is not plain:
                    raise MismatchError(item, "string" if plain is str else "bool")
                if item or keeps_zero:
                    out[key] = item
        except MismatchError as mismatch:
            mismatch.add_context(name, key)
            raise
        for key, zero in nested:
            if key not in out:
                out[key] = zero()
        return out

    return convert


def _list(item: _StructType) -> _StructType:
    convert_item, zero, name = item.convert, item.zero, f"[]{item.name}"

    def convert(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not list:
            raise MismatchError(value, name)
        return [zero() if each is None else convert_item(each, unknown) for each in value]

    return _StructType(_unless_all_text(list, convert) if item is _STRING else convert, lambda: None, name)


def _map(item: _StructType) -> _StructType:
    convert_item, zero, name = item.convert, item.zero, f"map[string]{item.name}"

    def convert(value: Any, unknown: list[str]) -> Any:
        if value.__class__ is not dict:
            raise MismatchError(value, name)
        return {key: zero() if each is None else convert_item(each, unknown) for key, each in value.items()}

    return _StructType(_unless_all_text(dict, convert) if item is _STRING else convert, lambda: None, name)


def _unless_all_text(expected: type, convert: Convert) -> Convert:
    """Fast path for labels and arguments: a value that is all text is taken unchanged."""

    def shorter(value: Any, unknown: list[str]) -> Any:
        fits: bool = value.__class__ is expected
        if fits:
            for each in value.values() if expected is dict else value:
                if each.__class__ is not str:
                    break
            else:
                return value
        return convert(value, unknown)

    return shorter
