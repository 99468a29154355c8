"""Header blocks, held against the `hpack` library."""

from __future__ import annotations

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.client import header_block

NAMES = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=300)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=20_000)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5), VALUES, st.sampled_from(["GET", "POST", "PATCH"]))
def test_what_is_written_can_be_read(pairs: list[tuple[str, str]], target: str, method: str) -> None:
    block = header_block.request_block(
        method, target, header_block.shared("host:6443", pairs), "application/json", 17
    )
    decoder = hpack.Decoder(max_header_list_size=1 << 20)
    decoder.max_allowed_table_size = 0
    decoder.header_table_size = 0
    read = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in decoder.decode(block, raw=True)]
    assert read == [
        (":method", method),
        (":path", target),
        (":scheme", "https"),
        (":authority", "host:6443"),
        *pairs,
        ("content-type", "application/json"),
        ("content-length", "17"),
    ]


def test_a_credential_is_not_to_be_remembered_by_anybody_on_the_way() -> None:
    [header] = hpack.Decoder().decode(header_block.literal("Authorization", "Bearer x"))
    assert isinstance(header, hpack.NeverIndexedHeaderTuple)


@pytest.mark.parametrize("huffman", [True, False], ids=["Huffman", "plain"])
@pytest.mark.parametrize("resized", [True, False], ids=["after a change of the table's size", "at once"])
@given(status=st.integers(100, 599))
def test_the_status_is_that_of_the_whole_block(status: int, huffman: bool, resized: bool) -> None:
    encoder = hpack.Encoder()
    if resized:
        encoder.header_table_size = 0
    block = encoder.encode([(":status", str(status)), ("audit-id", "17")], huffman=huffman)
    assert header_block.status_of(block) == status


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x20", id="the table's size alone"),
        pytest.param(b"\x82", id="a method"),
        pytest.param(b"\x04\x01/", id="a path"),
        pytest.param(b"\x08\x03abc", id="letters"),
        pytest.param(b"\x08\x83abc", id="half a Huffman code"),
    ],
)
def test_no_status_is_said_so(block: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        header_block.status_of(block)
