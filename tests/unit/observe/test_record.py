"""Records of attempts: their steps, their compact form, and the ring of the latest ones."""

from __future__ import annotations

import numpy as np
import pytest

from bayplan.observe.record import CompactPluginScores, Record, Ring
from bayplan.testing import Harness, make_node, make_pod


@pytest.fixture
def harness() -> Harness:
    harness = Harness(nodes=[make_node("a", cpu="2"), make_node("b", cpu="8"), make_node("c", unschedulable=True)])
    harness.add(make_pod("load", cpu="1", node_name="b"))
    return harness


def test_steps_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step ends where the next one begins; the last one ends with the attempt."""
    times = iter([0.0, 1.0, 3.0, 7.0])
    monkeypatch.setattr("bayplan.observe.record.perf_counter", lambda: next(times))
    record = Record("default/p", "1", "default-scheduler")
    record.start("PreFilter")
    record.start("Filter")
    record.finish()
    assert record.steps == [("PreFilter", 2.0), ("Filter", 4.0)]
    assert record.seconds == 7.0
    assert record.describe_steps() == "total=7000.0ms PreFilter=2000.0ms Filter=4000.0ms"


def test_attempt_without_steps() -> None:
    """An attempt may end before its first step."""
    record = Record("default/p", "1", "default-scheduler")
    record.finish()
    assert record.steps == []


@pytest.mark.parametrize("n_before", [0, 1], ids=["first pod", "later pod"])
def test_compact_record_has_the_same_values(harness: Harness, n_before: int) -> None:
    """Compacting changes the size of a record, not its values."""
    for _ in range(n_before):
        harness.decide(make_pod("before", cpu="500m"))
    decision = harness.decide(make_pod("p", cpu="500m"))
    before = decision.scores
    assert before is not None
    decision.record.compact()
    decision.record.compact()
    after = decision.record.scores
    assert after is not None
    assert after.nodes.names.tolist() == before.nodes.names.tolist()
    assert after.totals.tolist() == before.totals.tolist()
    assert after.by_plugin.keys() == before.by_plugin.keys()
    for plugin, scores in before.by_plugin.items():
        compact = after.by_plugin[plugin]
        assert compact.raw.tolist() == scores.raw.tolist()
        assert compact.normalized.tolist() == scores.normalized.tolist()
        assert compact.weighted.tolist() == scores.weighted.tolist()


def test_compact_record_is_smaller(harness: Harness) -> None:
    """Normalised scores take a byte each. Scores that change with every pod are a version of a shared column, and
    constant scores have no column at all."""
    harness.add(make_node("d", taints=["flaky=:PreferNoSchedule"]))
    harness.decide(make_pod("first"))  # nothing is cached yet
    decision = harness.decide(make_pod("p"))
    decision.record.compact()
    scores = decision.record.scores
    assert scores is not None
    compact = {name: own for name, own in scores.by_plugin.items() if isinstance(own, CompactPluginScores)}
    assert {own.normalized.dtype for own in compact.values()} == {np.dtype(np.uint8)}
    assert compact.keys() == {"TaintToleration"}


def test_records_outlive_their_nodes(harness: Harness) -> None:
    """A record has the names of its nodes after they were removed."""
    decision = harness.decide(make_pod("p"))
    scores, verdicts = decision.record.scores, decision.record.filter
    assert scores is not None
    assert verdicts is not None
    harness.core.cache.remove_node("a")
    harness.add(make_node("d"))
    assert scores.nodes.names.tolist() == ["a", "b"]
    assert verdicts.nodes.names.tolist() == ["a", "b", "c"]


def _record(name: str) -> Record:
    return Record(f"default/{name}", name, "default-scheduler")


def test_ring_finds_the_latest() -> None:
    """The attempts at one pod, the latest first."""
    ring = Ring()
    first, other, second = _record("p"), _record("q"), _record("p")
    for record in (first, other, second):
        ring.add(record)
    assert ring.latest("default/p") is second
    assert list(ring.history("default/p")) == [second, first]
    assert ring.latest("default/r") is None
    assert (len(ring), list(ring)) == (3, [first, other, second])


def test_ring_is_bounded() -> None:
    """The oldest records are dropped; the latest one stays, however large."""
    size = _record("p").footprint().n_bytes
    ring = Ring(max_bytes=3 * size)
    for i in range(5):
        ring.add(_record(f"p{i}"))
    assert [record.pod_uid for record in ring] == ["p2", "p3", "p4"]
    assert ring.n_bytes == 3 * size
    tiny = Ring(max_bytes=1)
    tiny.add(_record("p"))
    assert len(tiny) == 1


def test_ring_forgets_dropped_attempts() -> None:
    """Of a pod with old and new attempts the new ones are found; of one with old ones only, none."""
    size = _record("p").footprint().n_bytes
    ring = Ring(max_bytes=3 * size)
    records = [_record(name) for name in ("gone", "p", "p", "q", "p")]
    for record in records:
        ring.add(record)
    assert ring.latest("default/gone") is None
    assert list(ring.history("default/p")) == [records[4], records[2]]
    for _ in range(3):
        ring.add(_record("r"))
    assert ring.latest("default/p") is None


def test_ring_counts_the_size_of_records(harness: Harness) -> None:
    """Verdicts and scores count until the record is dropped."""
    ring = Ring(max_bytes=1)
    bare = _record("p").footprint().n_bytes
    ring.add(harness.decide(make_pod("p")).record)
    assert ring.n_bytes > bare
    ring.add(_record("q"))
    assert (len(ring), ring.n_bytes) == (1, bare)


def test_ring_counts_shared_columns_once(harness: Harness) -> None:
    """Records of equivalent pods share their columns, which count until the last of them is dropped."""
    bare = _record("p").footprint().n_bytes
    harness.decide(make_pod("first", cpu="500m"))
    first, second = (harness.decide(make_pod(name, cpu="500m")).record for name in ("p", "q"))
    ring = Ring(max_bytes=10**9)
    ring.add(first)
    with_first = ring.n_bytes
    ring.add(second)
    assert ring.n_bytes == with_first + bare
    alone = Ring(max_bytes=1)
    for record in (first, second):
        alone.add(record)
    assert list(alone) == [second]
    assert bare < alone.n_bytes <= with_first
    alone.add(_record("r"))
    assert alone.n_bytes == bare


@pytest.mark.parametrize(
    ("raw", "dtype"),
    [([0, 200], np.uint8), ([-1, 200], np.int16), ([70_000], np.uint32), ([], np.int8)],
    ids=["a byte", "signed", "four bytes", "no nodes"],
)
def test_raw_scores_take_the_smallest_type(raw: list[int], dtype: type[np.generic]) -> None:
    """That holds the lowest and the highest of them."""
    scores = CompactPluginScores(np.array(raw, dtype=np.int64), np.zeros(len(raw), dtype=np.int64), 2)

    assert scores.raw.dtype == np.dtype(dtype)
    assert scores.raw.tolist() == raw
    assert scores.n_bytes == len(raw) * (1 + scores.raw.itemsize)
