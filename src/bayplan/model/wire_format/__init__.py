"""The wire format of protobuf, and the envelope that Kubernetes puts around it."""

from bayplan.model.wire_format.wire_reader import WireFormatError, fields_of, scalar, signed
from bayplan.model.wire_format.wire_writer import (
    MAGIC,
    OBJECT,
    PROTOBUF,
    TYPE,
    append_fields,
    encode_field,
    encode_varint,
)

__all__ = [
    "MAGIC",
    "OBJECT",
    "PROTOBUF",
    "TYPE",
    "WireFormatError",
    "append_fields",
    "encode_field",
    "encode_varint",
    "fields_of",
    "scalar",
    "signed",
]
