"""The watch decoder: any pieces of bytes in, the same events out."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import Pod
from bayplan.watch.decoder import MAX_EVENT_BYTES, WatchDecoder, WatchError, WatchEvent, read_head

EVENTS = [
    {"type": "ADDED", "object": {"kind": "Pod", "metadata": {"name": "é\n", "resourceVersion": "1"}}},
    {"type": "MODIFIED", "object": {"metadata": {"name": "b", "namespace": "ns"}, "spec": {"x": [1, {"y": "}"}]}}},
    {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7"}}},
    {"type": "ERROR", "object": {"kind": "Status", "code": 410}},
]
STREAM = b"".join(msgspec.json.encode(each) + b"\n" for each in EVENTS)


def decoded(*pieces: bytes) -> list[WatchEvent]:
    decoder = WatchDecoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    decoder.finish()
    return events


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_pieces_do_not_matter(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[a:b] for a, b in pairwise(edges)]
    events = decoded(*pieces)
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "BOOKMARK", "ERROR"]
    assert [msgspec.json.decode(event.object) for event in events] == [each["object"] for each in EVENTS]


def test_objects_are_bytes_that_a_kind_decodes() -> None:
    pod = Pod.from_json(decoded(STREAM)[1].object)
    assert (pod.key, pod.raw["spec"]) == ("ns/b", {"x": [1, {"y": "}"}]})


def test_empty_lines_are_nothing() -> None:
    assert decoded(b"\n\r\n", STREAM, b"\n") == decoded(STREAM)


def test_end_in_the_middle_is_an_error() -> None:
    with pytest.raises(WatchError, match="in the middle of an event"):
        decoded(STREAM[:-5])


@pytest.mark.parametrize(
    "line", [b"hello\n", b'{"type":"ADDED"}\n', b'{"object":{}}\n', b'{"type":1,"object":{}}\n']
)
def test_other_lines_are_errors(line: bytes) -> None:
    with pytest.raises(WatchError, match="not a watch event"):
        WatchDecoder().feed(line)


def test_endless_lines_are_errors() -> None:
    decoder = WatchDecoder()
    decoder.feed(b"x" * MAX_EVENT_BYTES)
    with pytest.raises(WatchError, match="more than"):
        decoder.feed(b"x")


def test_head_of_an_object() -> None:
    head = read_head(b'{"metadata":{"name":"n","namespace":"s","resourceVersion":"3","labels":1},"spec":"?"}')
    assert (head.key, head.metadata.resource_version) == ("s/n", "3")
    assert read_head(b'{"metadata":[]}').key == ""
