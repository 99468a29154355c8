"""Writes the wire format: fields, and objects with something appended."""

from __future__ import annotations

from typing import Final

from bayplan.model.wire_format.wire_reader import WireFormatError, fields_of

#: The media type, and the prefix of every body of it.
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\x00"
#: The fields of the envelope: kind and version, and the object.
TYPE: Final = 1
OBJECT: Final = 2

_LENGTH: Final = 2


def encode_field(number: int, value: int | str | bytes) -> bytes:
    """One field; a message is given as its bytes."""
    if isinstance(value, int):
        return encode_varint(number << 3) + encode_varint(value)
    data = value.encode() if isinstance(value, str) else value
    return encode_varint(number << 3 | _LENGTH) + encode_varint(len(data)) + data


def encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def append_fields(body: bytes, fields: bytes) -> bytes:
    """The body with *fields* at the end of its object; every other byte of the object stays as it is.

    Readers of protobuf add what is appended to a list, let it replace a scalar, and merge it into a message.
    """
    if not body.startswith(MAGIC):
        raise WireFormatError("no object of Kubernetes in protobuf")
    envelope = (
        encode_field(number, raw + fields if number == OBJECT and isinstance(raw, bytes) else raw)
        for number, raw in fields_of(body[len(MAGIC) :])
    )
    return MAGIC + b"".join(envelope)
