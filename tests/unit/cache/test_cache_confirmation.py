"""A pod that the watch shows again: the columns are updated, and only what changed."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.cache import Cache
from bayplan.framework import PodQuery
from bayplan.model import Node, Pod, selector_from_labels
from bayplan.testing import make_node

Raw = dict[str, Any]

RUNNING: Raw = {"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True"}]}
RESIZED: Raw = {"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}


QUERIES = [
    PodQuery(frozenset({"ns"}), (selector_from_labels({"app": app}),), terminating)
    for app in ("a", "b")
    for terminating in (True, False)
]


def pod(*, status: Raw | None = None, spec: Raw | None = None, **metadata: Any) -> Pod:
    container = {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    return Pod.from_dict(
        {
            "metadata": {"name": "p", "namespace": "ns", "uid": "p", "labels": {"app": "a"}, **metadata},
            "spec": {"containers": [container], **(spec or {})},
            "status": status or {},
        }
    )


def on_a(**facts: Any) -> Pod:
    return pod(**{**facts, "spec": {**facts.get("spec", {}), "nodeName": "a"}})


def cache_with(*pods: Pod) -> Cache:
    cache = Cache()
    for name in ("a", "b"):
        allocatable = {"cpu": "8", "memory": "32Gi", "pods": "110"}
        cache.set_node(Node.from_dict({"metadata": {"name": name}, "status": {"allocatable": allocatable}}))
    for query in QUERIES:
        cache.snapshot().nodes.count_pods(query)  # from now on updated by one with every pod
    for each in pods:
        cache.add_pod(each)
    return cache


def assert_same(cache: Cache, fresh: Cache) -> None:
    ours, theirs = cache.snapshot().nodes, fresh.snapshot().nodes
    for resource in ("cpu", "memory"):
        assert ours.requested(resource).tolist() == theirs.requested(resource).tolist()
        assert ours.nonzero_requested(resource).tolist() == theirs.nonzero_requested(resource).tolist()
    assert ours.pod_counts().tolist() == theirs.pod_counts().tolist()
    for query in QUERIES:
        assert ours.count_pods(query).tolist() == theirs.count_pods(query).tolist()
    assert [each for node in ours for each in node.pods] == [each for node in theirs for each in node.pods]


CHANGED = {
    "a status": on_a(status=RUNNING),
    "nothing": on_a(),
    "an annotation": on_a(annotations={"x": "y"}),
    "other labels": on_a(labels={"app": "b"}),
    "on its way out": on_a(deletionTimestamp="2024-01-02T00:00:00Z"),
    "a resize": on_a(status=RESIZED),
    "a container more": on_a(spec={"containers": [{"name": "c"}, {"name": "d"}]}),
    "another node": pod(spec={"nodeName": "b"}),
    "a node that is not there": pod(spec={"nodeName": "c"}),
}


@pytest.mark.parametrize("shown", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("was_assumed", [True, False], ids=["assumed before", "seen before"])
def test_updated_pod_is_counted_as_it_is(shown: Pod, was_assumed: bool) -> None:
    """Whatever changed, the columns equal those of a cache that had only this form of the pod."""
    cache = cache_with() if was_assumed else cache_with(on_a())
    if was_assumed:
        cache.assume(pod(), "a")
    cache.add_pod(shown)
    assert_same(cache, cache_with(shown))
    cache.set_node(make_node("c"))  # where one form of the pod is
    assert [each is shown for each in cache.snapshot().pods()] == [True]
    assert not cache.is_assumed("p")
    cache.remove_pod("p")
    cache.remove_node("c")
    assert_same(cache, cache_with())


@pytest.mark.parametrize(
    ("shown", "is_logged"),
    [(on_a(status=RUNNING), False), (on_a(status=RESIZED), True), (on_a(labels={"app": "b"}), False)],
    ids=["a confirmation", "a resize", "other labels"],
)
def test_confirmation_changes_no_amount(shown: Pod, is_logged: bool) -> None:
    """A confirmation is in the log of usage changes, but not in the log of amounts."""
    cache = cache_with()
    cache.assume(pod(), "a")
    snapshot = cache.snapshot()
    amounts, usage = snapshot.amount_changes.position, snapshot.usage_changes.position
    cache.add_pod(shown)
    assert (snapshot.amount_changes.position > amounts) is is_logged
    assert snapshot.usage_changes.position > usage


def test_updated_pod_is_the_last_on_its_node() -> None:
    """As in kube-scheduler."""
    cache = cache_with(on_a(), on_a(name="q", uid="q"))
    cache.add_pod(on_a(status=RUNNING))
    (node, _) = cache.snapshot().nodes
    assert [each.uid for each in node.pods] == ["q", "p"]
