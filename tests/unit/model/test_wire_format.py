"""The wire format of protobuf: what is encoded is read again, and what is appended leaves the rest as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model.wire_format import MAGIC, OBJECT, TYPE, WireFormatError, append_fields, encode_field, fields_of

VALUES = st.one_of(st.integers(0, (1 << 64) - 1), st.binary(max_size=300))


@given(st.lists(st.tuples(st.integers(1, 2**29 - 1), VALUES)))
def test_fields_are_read_as_they_were_written(fields: list[tuple[int, int | bytes]]) -> None:
    data = b"".join(encode_field(number, value) for number, value in fields)

    assert list(fields_of(data)) == fields


def test_appended_fields_come_last_in_the_object() -> None:
    kind, content = encode_field(1, "v1") + encode_field(2, "Pod"), encode_field(1, b"whatever was there")
    rest = encode_field(3, "") + encode_field(4, "")
    body = MAGIC + encode_field(TYPE, kind) + encode_field(OBJECT, content) + rest
    added = encode_field(1, encode_field(14, "finalizer"))

    assert (
        append_fields(body, added)
        == MAGIC + encode_field(TYPE, kind) + encode_field(OBJECT, content + added) + rest
    )


def test_nothing_is_appended_to_something_else() -> None:
    with pytest.raises(WireFormatError):
        append_fields(b'{"kind": "Pod"}', b"")
