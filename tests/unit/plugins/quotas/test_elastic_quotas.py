"""Elastic quotas as numbers: what is counted, what is compared, and what is said of a quota that looks wrong."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.quotas.support import CONFIGURATION, quota, running

from bayplan.model import ElasticQuota, KubeObject, Pod
from bayplan.plugins.quotas._elastic_quotas import QuotaTracker, exceeds
from bayplan.testing import Harness, make_node, make_pod

BIG = {"cpu": "100", "memory": "1Ti"}


@pytest.mark.parametrize(
    ("asked", "used", "limit", "unnamed_is_zero", "expected"),
    [
        pytest.param({"cpu": 1}, {"cpu": 1}, {"cpu": 2}, True, False, id="just enough"),
        pytest.param({"cpu": 2}, {"cpu": 1}, {"cpu": 2}, True, True, id="too much"),
        pytest.param({}, {"cpu": 3}, {"cpu": 2}, True, True, id="used already is too much, for who asks nothing"),
        pytest.param({"ephemeral-storage": 1}, {}, {}, False, True, id="storage that is not named"),
        pytest.param({"x.io/y": 1}, {}, {}, False, False, id="another resource without a limit"),
        pytest.param({"x.io/y": 1}, {}, {}, True, True, id="another resource with a limit of 0"),
        pytest.param({}, {"x.io/y": 9}, {"x.io/y": 1}, True, False, id="another resource that nobody asks for"),
        pytest.param({"pods": 9}, {}, {"pods": 1}, True, False, id="the number of pods"),
    ],
)
def test_amounts_are_compared(
    asked: dict[str, int], used: dict[str, int], limit: dict[str, int], unnamed_is_zero: bool, expected: bool
) -> None:
    """cpu, memory and ephemeral storage always; other resources when they are asked for; pods never."""
    assert exceeds(asked, used, limit, unnamed_is_zero=unnamed_is_zero) is expected


# --- following pods -------------------------------------------------------------------------------

changes = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "resize", "drop node", "set node"]), st.integers(0, 5), st.integers(1, 9)
    ),
    max_size=25,
)


def counted_anew(bench: Bench, namespace: str) -> int:
    pods = bench.handle.snapshot.pods()
    return sum(pod.requests["cpu"] for pod in pods if pod.namespace == namespace)


@given(changes)
def test_usage_equals_a_full_count(steps: list[tuple[str, int, int]]) -> None:
    """Pods come, change and go, and so do nodes: what is kept is what counting everything gives."""
    bench = Bench(nodes=[make_node("n0"), make_node("n1")])
    bench.objects.set(quota("team-a", BIG))
    book = QuotaTracker(bench.handle)
    for action, number, cpu in steps:
        change(bench, action, number, cpu)
        usage = book.usage()
        for namespace in ("team-a", "team-b"):
            assert usage.used(namespace).get("cpu", 0) == counted_anew(bench, namespace)
        total = counted_anew(bench, "team-a")
        assert usage.is_over_total_min({"cpu": 100_000 - total + 1})
        assert not usage.is_over_total_min({"cpu": 100_000 - total})


def change(bench: Bench, action: str, number: int, cpu: int) -> None:
    uid = f"uid-{number}"
    if action == "drop node":
        bench.cache.remove_node(f"n{number % 2}")
    elif action == "set node":
        bench.cache.set_node(make_node(f"n{number % 2}"))
    elif action == "remove":
        bench.cache.remove_pod(uid)
    else:
        namespace = "team-a" if number % 3 else "team-b"
        pod = make_pod(f"p{number}", namespace=namespace, cpu=str(cpu), metadata={"uid": uid})
        bench.cache.add_pod(with_node(pod, f"n{number % 2}"))


def with_node(pod: Pod, node_name: str) -> Pod:
    return Pod.from_dict({**pod.raw, "spec": {**pod.raw["spec"], "nodeName": node_name}})


# --- quotas that look wrong -----------------------------------------------------------------------


class Recorder:
    def __init__(self) -> None:
        self.notes: list[tuple[str, str]] = []

    def event(self, regarding: KubeObject, *, note: str, **fields: Any) -> None:
        assert (fields["kind"], fields["reason"]) == ("Warning", "InvalidQuota")
        self.notes.append((regarding.key, note))


def told(*quotas: ElasticQuota, caplog: pytest.LogCaptureFixture) -> list[str]:
    """The events about *quotas*; the log has the same, and other pods are placed."""
    recorder = Recorder()
    harness = Harness(nodes=[make_node("a", cpu="8")], configuration=CONFIGURATION)
    plugin: Any = harness.profile().plugins.plugins["CapacityScheduling"]
    plugin.handle.recorder = recorder
    harness.add(*quotas, quota("sound", BIG, BIG))
    with caplog.at_level(logging.ERROR, logger="bayplan.plugins"):
        assert harness.decide(make_pod("p", namespace="sound", cpu="1", memory="1Gi")).node_name == "a"
        assert harness.decide(make_pod("q", cpu="1")).node_name == "a"
    notes = [note for key, note in recorder.notes]
    assert [record.getMessage() for record in caplog.records] == notes
    return notes


@pytest.mark.parametrize(
    ("wrong", "note"),
    [
        pytest.param(
            quota("t", {"cpu": 4, "memory": 1}, {"cpu": 2, "memory": 1}),
            "spec.min of cpu is above spec.max: the part above max can never be used",
            id="min over max",
        ),
        pytest.param(
            quota("t", {"cpus": 4}),
            "spec.min names cpus, which the scheduler does not count; it is ignored",
            id="unknown resource",
        ),
        pytest.param(quota("t", {"cpu": "-1"}), "spec.min of cpu is negative", id="negative amount"),
        pytest.param(
            quota("t", {}, {"cpu": 2}),
            "spec.max names no memory, which counts as 0: pods that request memory are rejected",
            id="max without memory",
        ),
    ],
)
def test_wrong_quota_is_told(wrong: ElasticQuota, note: str, caplog: pytest.LogCaptureFixture) -> None:
    """In the log and as an event on the quota, once; nobody else is held up."""
    assert told(wrong, caplog=caplog) == [note]


def test_empty_max_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """It allows nothing, which hardly anybody means. Both warnings are in one event: of two on one object with
    the same reason only the first would be written."""
    assert told(quota("t", {}, {}), caplog=caplog) == [
        "spec.max names no cpu, which counts as 0: pods that request cpu are rejected; "
        "spec.max names no memory, which counts as 0: pods that request memory are rejected"
    ]


def test_finding_is_told_once_and_again_when_it_comes_back() -> None:
    """A status that a controller writes says nothing new; a quota that was mended and is wrong again does."""
    recorder = Recorder()
    harness = Harness(nodes=[make_node("a")], configuration=CONFIGURATION)
    plugin: Any = harness.profile().plugins.plugins["CapacityScheduling"]
    plugin.handle.recorder = recorder
    wrong, mended = quota("t", {"cpu": "-1"}), quota("t", {"cpu": "1"})
    for each in (wrong, ElasticQuota.from_dict({**wrong.raw, "status": {"used": {"cpu": "0"}}}), mended, wrong):
        harness.add(each)
        harness.decide(make_pod("p"))

    assert recorder.notes == [("t/t", "spec.min of cpu is negative")] * 2


def test_unreadable_quota_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """Its namespace is as one without a quota."""
    [note] = told(quota("t", {"cpu": "many"}), caplog=caplog)
    assert note.startswith("The quota is ignored, an amount is invalid")

    harness = Harness(nodes=[make_node("a")], objects=[quota("t", {"cpu": "many"})], configuration=CONFIGURATION)
    assert harness.decide(make_pod("p", namespace="t", cpu="1")).node_name == "a"


def test_oldest_of_two_quotas_counts(caplog: pytest.LogCaptureFixture) -> None:
    """A namespace has one quota: the oldest, in whatever order they come; the other one is left out."""
    older = quota("t", BIG, BIG, name="z", created="2024-01-01T00:00:00Z")
    younger = quota("t", {}, {"cpu": 0, "memory": 0}, name="a", created="2024-02-01T00:00:00Z")

    assert told(younger, older, caplog=caplog) == [
        "The quota is ignored: a namespace has one quota, and z is older"
    ]
    for order in ((older, younger), (younger, older)):
        harness = Harness(nodes=[make_node("a")], objects=order, configuration=CONFIGURATION)
        assert harness.decide(make_pod("p", namespace="t", cpu="1")).node_name == "a"


def test_min_over_max_is_capped_by_max() -> None:
    """The namespace is sure of no more than its max, and the others lose nothing."""
    harness = Harness(
        nodes=[make_node("a", cpu="8")],
        objects=[quota("t", BIG, {"cpu": 2, "memory": "1Ti"}), quota("u", {"cpu": 4, "memory": 0}, BIG)],
        pods=[running("r", "t", cpu="2")],
        configuration=CONFIGURATION,
    )
    assert not harness.decide(make_pod("p", namespace="t", cpu="1")).node_name
    assert harness.decide(make_pod("q", namespace="u", cpu="4")).node_name == "a"
