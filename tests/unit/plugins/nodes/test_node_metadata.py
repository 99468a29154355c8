"""NodeMetadata: nodes by a number or a time in their labels or annotations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from tests.unit.plugins.bench import Bench

from bayplan.config.args import NodeMetadataArgs
from bayplan.framework import CycleState
from bayplan.model import Node
from bayplan.plugins.nodes._go_time import parse_go_time
from bayplan.plugins.nodes.node_metadata import NodeMetadata
from bayplan.testing import make_node, make_pod

KEY = "example.com/rank"


def normalised(values: list[str | None], *, source: str = "Label", **fields: str) -> list[int]:
    """The scores of nodes with these values; None: the node has none."""
    bench = Bench(nodes=[node(f"n{i}", source, value) for i, value in enumerate(values)])
    args = NodeMetadataArgs(metadata_key=KEY, metadata_source=source, **fields).defaulted()
    plugin, nodes, state = NodeMetadata(args, bench.handle), bench.handle.snapshot.nodes, CycleState()
    raw = plugin.score_nodes(state, make_pod("p"), nodes)
    scores: list[int] = plugin.normalize_score(state, make_pod("p"), raw, nodes).tolist()
    return scores


def node(name: str, source: str, value: str | None) -> Node:
    values = {} if value is None else {KEY: value}
    if source == "Label":
        return make_node(name, labels=values)
    plain: dict[str, Any] = dict(make_node(name).raw)
    return Node.from_dict({**plain, "metadata": {**plain["metadata"], "annotations": values}})


@pytest.mark.parametrize("source", ["Label", "Annotation"])
@pytest.mark.parametrize(
    ("values", "strategy", "expected"),
    [
        (["10", "30", "20"], "Highest", [1, 100, 50]),
        (["10", "30", "20"], "Lowest", [100, 1, 50]),
        (["10", None, "x", "20"], "Highest", [1, 0, 0, 100]),
        (["5", "5"], "Highest", [1, 1]),
        ([None, "1_0"], "Highest", [0, 0]),
        (["2.9", "2.1", "1e2"], "Highest", [1, 1, 100]),
        (["inf", "nan", "1e30", "7"], "Highest", [0, 0, 0, 1]),
    ],
    ids=["highest", "lowest", "missing", "equal", "none", "whole part", "too large"],
)
def test_numbers(source: str, values: list[str | None], strategy: str, expected: list[int]) -> None:
    """1 … 100 by the whole part of the number; 0 for nodes without one."""
    assert normalised(values, source=source, metadata_type="Number", scoring_strategy=strategy) == expected


@pytest.mark.parametrize(("strategy", "expected"), [("Newest", [1, 100, 50, 0]), ("Oldest", [100, 1, 50, 0])])
def test_times(strategy: str, expected: list[int]) -> None:
    """By age in seconds; RFC 3339 unless a layout is given."""
    values: list[str | None] = [
        "2023-01-01T00:00:00Z",
        "2023-01-01T02:00:00Z",
        "2023-01-01T02:00:00+01:00",
        "soon",
    ]
    found = normalised(values, source="Annotation", metadata_type="Timestamp", scoring_strategy=strategy)
    assert found == expected


def test_default_value_stands_for_a_missing_one() -> None:
    """A node without the key counts with the default; one that cannot be read still does not."""
    found = normalised([None, "30", "x"], metadata_type="Number", scoring_strategy="Highest", default_value="10")
    assert found == [1, 100, 0]


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        ("2006-01-02", "2025-12-04", datetime(2025, 12, 4, tzinfo=UTC)),
        ("2006-01-02 15:04:05", "2025-12-04 10:30:00", datetime(2025, 12, 4, 10, 30, tzinfo=UTC)),
        ("2006-01-02T15:04:05Z07:00", "2025-12-04T10:30:00+02:00", datetime(2025, 12, 4, 8, 30, tzinfo=UTC)),
        ("2006-01-02T15:04:05Z07:00", "2025-12-04T10:30:00.5Z", datetime(2025, 12, 4, 10, 30, 0, 500000, UTC)),
        ("Jan 2, 2006 at 3:04PM", "Dec 4, 2025 at 1:30PM", datetime(2025, 12, 4, 13, 30, tzinfo=UTC)),
        ("02/01/06 %", "04/12/25 %", datetime(2025, 12, 4, tzinfo=UTC)),
        ("20060102T150405", "20251204T103000", datetime(2025, 12, 4, 10, 30, tzinfo=UTC)),
    ],
)
def test_layouts_of_go(layout: str, text: str, expected: datetime) -> None:
    """The reference time stands for what is expected in its place."""
    assert parse_go_time(layout, text) == expected


@pytest.mark.parametrize(("layout", "text"), [("2006", "x"), ("2006-2006", "2025-2025")], ids=["text", "layout"])
def test_unreadable_times_are_value_errors(layout: str, text: str) -> None:
    """Also where the layout makes no sense."""
    with pytest.raises(ValueError, match=r"time data|repeated"):
        parse_go_time(layout, text)


def test_times_are_not_kept() -> None:
    """The age of a node changes; numbers do not."""
    bench = Bench()
    args = NodeMetadataArgs(metadata_type="Number")
    assert NodeMetadata(args, bench.handle).sign(make_pod("p")) is not None
    args = msgspec.structs.replace(args, metadata_type="Timestamp")
    assert NodeMetadata(args, bench.handle).sign(make_pod("p")) is None
