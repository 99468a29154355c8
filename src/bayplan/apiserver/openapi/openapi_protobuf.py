"""The OpenAPI v2 document as protobuf: gnostic's message `openapi.v2.Document`, which clients of client-go read.

In: the document as JSON, with its definitions. Out: bytes. Paths are left out, as in the JSON document.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from bayplan.apiserver.schema.schemas import Json
from bayplan.model.wire_format import encode_field, encode_varint

CONTENT_TYPE: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

#: The numbers of a schema's fields, by type.
_TEXTS: Final = {"$ref": 1, "format": 2, "title": 3, "description": 4, "pattern": 13}
_DOUBLES: Final = {"multipleOf": 6, "maximum": 7, "minimum": 9}
_NUMBERS: Final = {
    "exclusiveMaximum": 8,
    "exclusiveMinimum": 10,
    "maxLength": 11,
    "minLength": 12,
    "maxItems": 14,
    "minItems": 15,
    "uniqueItems": 16,
    "maxProperties": 17,
    "minProperties": 18,
}
_DEFAULT, _REQUIRED, _ENUM, _ADDITIONAL, _TYPE, _ITEMS, _ALL_OF, _PROPERTIES, _VENDOR = (
    5,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    31,
)


def encode_swagger(document: Json) -> bytes:
    """The whole document."""
    info = encode_field(1, document["info"]["title"]) + encode_field(2, document["info"]["version"])
    definitions = b"".join(_named(1, name, _schema(each)) for name, each in document["definitions"].items())
    return (
        encode_field(1, document["swagger"])
        + encode_field(2, info)
        + encode_field(8, b"")
        + encode_field(9, definitions)
    )


def _schema(schema: Json) -> bytes:
    return b"".join(piece for name, value in schema.items() for piece in _field(name, value))


def _field(name: str, value: Any) -> Iterator[bytes]:
    if name in _TEXTS:
        yield encode_field(_TEXTS[name], value)
    elif name in _DOUBLES:
        yield encode_varint(_DOUBLES[name] << 3 | 1) + struct.pack("<d", value)
    elif name in _NUMBERS:
        yield encode_field(_NUMBERS[name], int(value))
    elif name.startswith("x-"):
        yield _named(_VENDOR, name, _any(value))
    elif name in _OTHERS:
        yield from _OTHERS[name](value)


def _additional(value: Json | bool) -> Iterator[bytes]:
    if isinstance(value, bool):
        yield encode_field(_ADDITIONAL, encode_field(2, int(value)))
    else:
        yield encode_field(_ADDITIONAL, encode_field(1, _schema(value)))


def _type(value: str | list[str]) -> Iterator[bytes]:
    texts = [value] if isinstance(value, str) else value
    yield encode_field(_TYPE, b"".join(encode_field(1, each) for each in texts))


#: The fields that are messages or lists.
_OTHERS: Final[dict[str, Callable[[Any], Iterator[bytes]]]] = {
    "default": lambda value: iter([encode_field(_DEFAULT, _any(value))]),
    "required": lambda value: (encode_field(_REQUIRED, each) for each in value),
    "enum": lambda value: (encode_field(_ENUM, _any(each)) for each in value),
    "additionalProperties": _additional,
    "type": _type,
    "items": lambda value: iter([encode_field(_ITEMS, encode_field(1, _schema(value)))]),
    "allOf": lambda value: (encode_field(_ALL_OF, _schema(each)) for each in value),
    "properties": lambda value: iter(
        [encode_field(_PROPERTIES, b"".join(_named(1, name, _schema(each)) for name, each in value.items()))]
    ),
}


def _any(value: Any) -> bytes:
    """Any value, as YAML; JSON is YAML."""
    return encode_field(2, msgspec.json.encode(value).decode() + "\n")


def _named(number: int, name: str, value: bytes) -> bytes:
    return encode_field(number, encode_field(1, name) + encode_field(2, value))
