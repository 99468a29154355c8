"""Rows as kube-apiserver v1.36.4 printed them, and how ages are written.

`recorded.jsonl.gz`: objects of every kind in many states, as a list and as a Table of the same moment.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.apiserver.tables import printer_of, table
from bayplan.apiserver.tables.cells import human_duration

_FILE = Path(__file__).with_name("recorded.jsonl.gz")


def _recorded() -> list[dict[str, Any]]:
    with gzip.open(_FILE) as file:
        return [json.loads(line) for line in file]


_KINDS = _recorded()


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: f"{kind['group']} {kind['kind']}".strip())
def test_rows_are_those_of_kube_apiserver(kind: dict[str, Any]) -> None:
    """Columns, cells, and row conditions that let clients hide completed pods."""
    printer = printer_of(kind["group"], kind["kind"])
    objects = [row["object"] for row in kind["rows"]]
    made = json.loads(msgspec.json.encode(table(printer, objects, now=kind["now"], metadata={})))
    for column in made["columnDefinitions"]:
        del column["description"]
    assert made["columnDefinitions"] == kind["columns"]
    rows = made["rows"] or []
    assert [row["cells"] for row in rows] == [row["cells"] for row in kind["rows"]]
    assert [row.get("conditions") for row in rows] == [row.get("conditions") for row in kind["rows"]]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (599, "9m59s"),
        (600, "10m"),
        (3 * 3600 - 1, "179m"),
        (3 * 3600, "3h"),
        (8 * 3600 - 1, "7h59m"),
        (48 * 3600 - 1, "47h"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (8 * 86400, "8d"),
        (2 * 365 * 86400 - 1, "729d"),
        (2 * 365 * 86400, "2y"),
        (3 * 365 * 86400 + 86400, "3y1d"),
        (8 * 365 * 86400 + 86400, "8y"),
    ],
)
def test_ages_have_few_figures(seconds: float, text: str) -> None:
    """The limits of apimachinery's HumanDuration."""
    assert human_duration(seconds) == text


_POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p", "resourceVersion": "7"},
    "spec": {"containers": [{"name": "c"}]},
    "status": {},
}


@pytest.mark.parametrize(
    ("include", "included"),
    [
        ("None", None),
        ("Object", _POD),
        (
            "Metadata",
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": _POD["metadata"]},
        ),
    ],
)
def test_rows_include_what_was_asked_for(include: str, included: object) -> None:
    """`includeObject`: nothing, the metadata, or the whole object."""
    made = table(printer_of("", "Pod"), [_POD], now=0, metadata={}, include_object=include)
    assert made["rows"][0]["object"] == included


def test_only_the_first_event_has_columns() -> None:
    """Later events of a watch have null."""
    made = table(printer_of("", "Pod"), [_POD], now=0, metadata={"resourceVersion": "7"}, with_columns=False)
    assert made["columnDefinitions"] is None
    assert made["metadata"] == {"resourceVersion": "7"}


def test_daemon_sets_hide_an_internal_annotation() -> None:
    """kube-apiserver prints its internal type, which has a field for the template's generation."""
    annotation = "deprecated.daemonset.template.generation"
    template: dict[str, Any] = {"metadata": {}, "spec": {"containers": []}}
    obj: dict[str, Any] = {
        "kind": "DaemonSet",
        "metadata": {"name": "d", "annotations": {annotation: "1", "a": "b"}},
        "spec": {"template": template},
        "status": {},
    }
    made = table(printer_of("apps", "DaemonSet"), [obj], now=0, metadata={})
    assert made["rows"][0]["object"]["metadata"] == {"name": "d", "annotations": {"a": "b"}}
    assert obj["metadata"]["annotations"] == {annotation: "1", "a": "b"}
