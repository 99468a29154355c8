"""The OpenAPI v2 document as protobuf: gnostic's message `openapi.v2.Document`, which clients of client-go read.

In: the document as JSON, with its definitions. Out: bytes. Paths are left out, as in the JSON document.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from bayplan.apiserver.schema.schemas import Json

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
    info = _text(1, document["info"]["title"]) + _text(2, document["info"]["version"])
    definitions = b"".join(_named(1, name, _schema(each)) for name, each in document["definitions"].items())
    return _text(1, document["swagger"]) + _bytes(2, info) + _bytes(8, b"") + _bytes(9, definitions)


def _schema(schema: Json) -> bytes:
    return b"".join(piece for name, value in schema.items() for piece in _field(name, value))


def _field(name: str, value: Any) -> Iterator[bytes]:
    if name in _TEXTS:
        yield _text(_TEXTS[name], value)
    elif name in _DOUBLES:
        yield _varint(_DOUBLES[name] << 3 | 1) + struct.pack("<d", value)
    elif name in _NUMBERS:
        yield _varint(_NUMBERS[name] << 3) + _varint(int(value))
    elif name.startswith("x-"):
        yield _named(_VENDOR, name, _any(value))
    elif name in _OTHERS:
        yield from _OTHERS[name](value)


def _additional(value: Json | bool) -> Iterator[bytes]:
    if isinstance(value, bool):
        yield _bytes(_ADDITIONAL, _varint(2 << 3) + _varint(int(value)))
    else:
        yield _bytes(_ADDITIONAL, _bytes(1, _schema(value)))


def _type(value: str | list[str]) -> Iterator[bytes]:
    texts = [value] if isinstance(value, str) else value
    yield _bytes(_TYPE, b"".join(_text(1, each) for each in texts))


#: The fields that are messages or lists.
_OTHERS: Final[dict[str, Callable[[Any], Iterator[bytes]]]] = {
    "default": lambda value: iter([_bytes(_DEFAULT, _any(value))]),
    "required": lambda value: (_text(_REQUIRED, each) for each in value),
    "enum": lambda value: (_bytes(_ENUM, _any(each)) for each in value),
    "additionalProperties": _additional,
    "type": _type,
    "items": lambda value: iter([_bytes(_ITEMS, _bytes(1, _schema(value)))]),
    "allOf": lambda value: (_bytes(_ALL_OF, _schema(each)) for each in value),
    "properties": lambda value: iter(
        [_bytes(_PROPERTIES, b"".join(_named(1, name, _schema(each)) for name, each in value.items()))]
    ),
}


def _any(value: Any) -> bytes:
    """Any value, as YAML; JSON is YAML."""
    return _text(2, msgspec.json.encode(value).decode() + "\n")


def _named(number: int, name: str, value: bytes) -> bytes:
    return _bytes(number, _text(1, name) + _bytes(2, value))


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
