"""The text of a line is klog's."""

from __future__ import annotations

import os
import re

import pytest

from bayplan.observe.klog_format import Ref, format_message, header, json_value, quote
from bayplan.testing import make_node, make_pod

POD = make_pod("web", namespace="default")


def test_header_has_time_process_and_place() -> None:
    """Microseconds keep their leading zeros; the process has seven columns."""
    text = header("W", 1_700_000_000.000123, "queue.py", 80)

    assert re.fullmatch(rf"W111[45] \d\d:\d\d:\d\d\.000123 {os.getpid():7d} queue\.py:80\] ", text)


def test_pairs_follow_the_message() -> None:
    text = format_message('Say "hi"', {"pod": POD, "n": 3})

    assert text == '"Say \\"hi\\"" pod="default/web" n=3'


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain", '"plain"'),
        ("é", '"é"'),
        ("a\r", '"a\\r"'),
        ("\u200b", '"\\u200b"'),
        ("\U000e0001", '"\\U000e0001"'),
    ],
    ids=["ascii", "printable", "escape", "not printable", "beyond 16 bits"],
)
def test_strings_are_quoted_as_in_go(text: str, quoted: str) -> None:
    assert quote(text) == quoted


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (POD, {"name": "web", "namespace": "default"}),
        (make_node("a"), {"name": "a"}),
        (Ref("b", "c"), {"name": "b", "namespace": "c"}),
        ({1: {"b", "a"}}, {"1": ["a", "b"]}),
        (b"x", "b'x'"),
        (None, None),
    ],
    ids=["pod", "node", "reference", "nested", "bytes", "nothing"],
)
def test_values_for_json(value: object, expected: object) -> None:
    """Objects by name, sets sorted, anything unknown as text."""
    assert json_value(value) == expected


def test_references_print_as_in_klog() -> None:
    assert (str(Ref("a")), str(Ref("a", "ns"))) == ("a", "ns/a")
