"""Encodings of requests; header blocks are verified with the `hpack` library."""

from __future__ import annotations

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.client.http_messages import (
    FixedHeaders,
    HttpRequest,
    decode_headers,
    decode_status,
    encode_header,
    encode_http1,
    encode_http2_headers,
)

NAMES = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=300)
VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=20_000)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=5), VALUES, st.sampled_from(["GET", "POST", "PATCH"]))
def test_what_is_written_can_be_read(pairs: list[tuple[str, str]], target: str, method: str) -> None:
    headers = FixedHeaders("host:6443", pairs)
    block = encode_http2_headers(HttpRequest(method, target, headers, b"x" * 17, "application/json"))
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


def test_a_credential_is_never_indexed() -> None:
    [header] = hpack.Decoder().decode(encode_header("Authorization", "Bearer x"))
    assert isinstance(header, hpack.NeverIndexedHeaderTuple)


@pytest.mark.parametrize("huffman", [True, False], ids=["Huffman", "plain"])
@pytest.mark.parametrize("resized", [True, False], ids=["after a change of the table's size", "at once"])
@given(status=st.integers(100, 599))
def test_the_status_is_that_of_the_whole_block(status: int, huffman: bool, resized: bool) -> None:
    encoder = hpack.Encoder()
    if resized:
        encoder.header_table_size = 0
    block = encoder.encode([(":status", str(status)), ("audit-id", "17")], huffman=huffman)
    assert decode_status(block) == status


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
        decode_status(block)


def test_http1_request_with_and_without_content() -> None:
    headers = FixedHeaders("host:6443", [("Accept", "a/b")])
    assert encode_http1(HttpRequest("GET", "/x?y=1", headers)) == (
        b"GET /x?y=1 HTTP/1.1\r\nHost: host:6443\r\nAccept: a/b\r\n\r\n"
    )
    assert encode_http1(HttpRequest("POST", "/x", headers, b"{}", "application/json")) == (
        b"POST /x HTTP/1.1\r\nHost: host:6443\r\nAccept: a/b\r\n"
        b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    )


@pytest.mark.parametrize("header", [("X", "a\r\nY: b"), ("X\n", "a")], ids=["value", "name"])
def test_a_header_of_two_lines_is_refused(header: tuple[str, str]) -> None:
    """It would let a value add headers of its own."""
    with pytest.raises(ValueError, match="one line"):
        FixedHeaders("host", [header])


def test_all_headers_of_a_block() -> None:
    pairs = [(":status", "429"), ("retry-after", "3")]
    block = hpack.Encoder().encode(pairs)
    assert decode_headers(block) == [(name.encode(), value.encode()) for name, value in pairs]
    with pytest.raises(ValueError, match=r"."):
        decode_headers(b"\xff")
