"""Caching is exact: the results equal those of calling every plugin for every node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.core import pool
from tests.unit.core.twins import Twins, arrays_of, described

from bayplan import config
from bayplan.cache.node_store import ChangeLog
from bayplan.cache.object_store import ObjectStores
from bayplan.core import Decision
from bayplan.core.running_totals import RunningTotals
from bayplan.framework import (
    CycleState,
    IntArray,
    NodeTable,
    Plugin,
    Reads,
    Registry,
    Status,
    Verdict,
    scores_alone,
)
from bayplan.model import KubeObject, Node, Pod, Service
from bayplan.scheduler import default_registry
from bayplan.testing import Harness, make_node, make_pod
from bayplan.version import IS_COMPILED

N_NODES: Final = 9
#: Of these some come and go.
NODE_NAMES: Final = tuple(f"n{number}" for number in range(N_NODES + 3))

#: What the watch may show of a pod that is on its node.
STATUSES: Final[tuple[pool.Raw, ...]] = (
    {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]},
    {"phase": "Running", "startTime": "2024-01-02T00:00:00Z"},
    {"phase": "Running", "containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "3"}}}]},
    {"phase": "Running", "containerStatuses": [{"name": "main", "resources": {"requests": {"memory": "9Gi"}}}]},
)

#: A step: what to do, to which (of however many there are), and three free choices.
Step = tuple[str, int, int, int, int]


@cache
def _composed() -> tuple[config.Loaded, Registry]:
    registry = default_registry()
    return config.load(pool.CONFIGURATION, source="configuration", catalogue=registry), registry


def small_cluster() -> Twins:
    """Nine nodes of every kind, a namespace, and some pods here and there."""
    twins = Twins(*_composed())
    for number in range(N_NODES):
        twins.set_node(pool.node(NODE_NAMES[number], (number % 5, number % 3, number % 3, number % 3, False)))
    for kind, raw in pool.OBJECTS[:2]:
        twins.set_object(kind, raw)
    for number, template in enumerate(("small", "large", "prefers solitude", "anti-affinity", "prefers company")):
        twins.place(pool.pod(template), NODE_NAMES[number])
    return twins


# --- what can happen ---------------------------------------------------------------------------------


def _set_node(twins: Twins, which: int, *choices: int) -> None:
    first, second, third = choices
    facts = (first % 5, second % 5, third % 4, (first + second) % 3, third % 11 == 0)
    twins.set_node(pool.node(NODE_NAMES[which % len(NODE_NAMES)], facts))


def _relabel_node(twins: Twins, which: int, *choices: int) -> None:
    """One kind of change to a node, and nothing else."""
    if not twins.nodes:
        return
    name = sorted(twins.nodes)[which % len(twins.nodes)]
    old = twins.nodes[name]
    new = pool.node(name, (choices[0] % 5, choices[0] % 5, choices[0] % 3, choices[0] % 3, bool(choices[0] % 2)))
    parts: tuple[Callable[[], pool.Raw], ...] = (
        lambda: {**old, "metadata": new["metadata"]},
        lambda: {**old, "spec": {**old["spec"], "taints": new["spec"]["taints"]}},
        lambda: {**old, "spec": {**old["spec"], "unschedulable": new["spec"]["unschedulable"]}},
        lambda: {**old, "status": {**old["status"], "allocatable": new["status"]["allocatable"]}},
        lambda: {**old, "status": {**old["status"], "images": new["status"]["images"]}},
    )
    twins.set_node(parts[choices[1] % len(parts)]())


def _remove_node(twins: Twins, which: int, *_: int) -> None:
    if twins.nodes:
        twins.remove_node(sorted(twins.nodes)[which % len(twins.nodes)])


def _pod(first: int, second: int, third: int) -> pool.Raw:
    template = pool.TEMPLATE_NAMES[first % len(pool.TEMPLATE_NAMES)]
    namespace = pool.NAMESPACES[second % 4 == 3]
    return pool.pod(template, namespace, pool.SCHEDULERS[third % 3 == 2])


def _place_pod(twins: Twins, which: int, *choices: int) -> None:
    """Somebody put a pod on a node, fitting or not (two pods never share a host port: see decision 0009)."""
    raw, name = _pod(*choices), NODE_NAMES[which % len(NODE_NAMES)]
    if not (_has_port(raw) and any(_has_port(each) for each in _pods_of(twins, name))):
        twins.place(raw, name)


def _pods_of(twins: Twins, name: str) -> Iterable[pool.Raw]:
    return (raw for raw in twins.pods.values() if raw["spec"]["nodeName"] == name)


def _has_port(raw: pool.Raw) -> bool:
    return any("ports" in container for container in raw["spec"]["containers"])


def _update_pod(twins: Twins, which: int, *choices: int) -> None:
    """A pod gets another label, or is being deleted."""
    if not twins.pods:
        return
    raw = list(twins.pods.values())[which % len(twins.pods)]
    labels = {"app": ("web", "db")[choices[0] % 2]}
    deletion = {"deletionTimestamp": "2024-01-02T00:00:00Z"} if choices[1] % 3 == 0 else {}
    changed = {**raw, "metadata": {**raw["metadata"], "labels": labels, **deletion}}
    twins.place(changed, raw["spec"]["nodeName"])


def _confirm_pod(twins: Twins, which: int, *choices: int) -> None:
    """A pod is shown again with another status, as it is after every bind; now and then with other resources."""
    if not twins.pods:
        return
    raw = list(twins.pods.values())[which % len(twins.pods)]
    twins.place({**raw, "status": STATUSES[choices[0] % len(STATUSES)]}, raw["spec"]["nodeName"])


def _remove_pod(twins: Twins, which: int, *_: int) -> None:
    if twins.pods:
        twins.remove_pod(list(twins.pods)[which % len(twins.pods)])


def _set_object(twins: Twins, which: int, *_: int) -> None:
    twins.set_object(*pool.OBJECTS[which % len(pool.OBJECTS)])


def _remove_object(twins: Twins, which: int, *_: int) -> None:
    twins.remove_object(*pool.OBJECTS[which % len(pool.OBJECTS)])


def _nominate(twins: Twins, which: int, *choices: int) -> None:
    if choices[0] % 2:
        twins.clear_nominations()
    else:
        twins.nominate(pool.pod("important"), NODE_NAMES[which % len(NODE_NAMES)])


CHANGES: Final = {
    "set a node": _set_node,
    "change a node": _relabel_node,
    "remove a node": _remove_node,
    "place a pod": _place_pod,
    "update a pod": _update_pod,
    "confirm a pod": _confirm_pod,
    "remove a pod": _remove_pod,
    "set an object": _set_object,
    "remove an object": _remove_object,
    "nominate": _nominate,
}
DECIDE: Final = "decide"

steps = st.lists(
    st.tuples(
        # A decision follows most changes.
        st.sampled_from((*CHANGES, *[DECIDE] * len(CHANGES))),
        st.integers(0, 11),
        st.integers(0, 2**10),
        st.integers(0, 11),
        st.integers(0, 11),
    ),
    min_size=12,
    max_size=30,
)


def decide_and_compare(twins: Twins, raw: pool.Raw) -> Decision:
    """Both schedulers decide the same, verdict by verdict and score by score."""
    kept, plain = twins.decide(raw)
    ours, theirs = described(kept, twins.nodes), described(plain, twins.nodes)
    assert ours == theirs
    return kept


def run(sequence: Iterable[Step]) -> None:
    twins = small_cluster()
    seen: list[tuple[Decision, Any]] = []
    for what, which, *choices in sequence:
        if what != DECIDE:
            CHANGES[what](twins, which, *choices)
            continue
        raw = _pod(*choices)
        if which == 0 and twins.nodes:
            raw["status"]["nominatedNodeName"] = min(twins.nodes)
        decision = decide_and_compare(twins, raw)
        seen.append((decision, arrays_of(decision)))
        # Most pods are on their node from then on, as in a running scheduler.
        if decision.node_name and which % 3:
            twins.place(raw, decision.node_name, assume=True)
    for decision, arrays in seen:
        assert arrays_of(decision) == arrays, "what was handed out has changed later"


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(steps)
def test_kept_answers_equal_a_full_recomputation(sequence: list[Step]) -> None:
    """After any changes, verdicts, scores, messages and victims are those of a scheduler made afresh."""
    run(sequence)


# --- preemption for pods alike ------------------------------------------------------------------------

#: When pods on a full node started: not yet, before the clock begins, after it.
STARTS: Final = (None, "2023-11-01T00:00:00Z", "2023-11-02T00:00:00Z", "2024-01-02T00:00:00Z")
#: What may come between two pods for which others must go.
BETWEEN: Final = ("place a pod", "remove a pod", "update a pod", "nominate", "set an object", "change a node")


def full_cluster(starts: list[int]) -> Twins:
    """Six nodes with two pods each, beside which no important pod fits."""
    twins = Twins(*_composed())
    for number in range(6):
        twins.set_node(pool.node(NODE_NAMES[number], (number % 5, 0, 0, 0, False)))
        for start in starts[2 * number : 2 * number + 2]:
            raw = pool.pod("large")
            raw["status"] = {"startTime": STARTS[start]} if STARTS[start] else {}
            twins.place(raw, NODE_NAMES[number])
    return twins


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    starts=st.lists(st.integers(0, len(STARTS) - 1), min_size=12, max_size=12),
    turns=st.lists(
        st.tuples(st.sampled_from(("", "", *BETWEEN)), st.integers(0, 11), st.integers(0, 50), st.booleans()),
        min_size=2,
        max_size=10,
    ),
)
def test_preemption_for_pods_alike_is_exact(starts: list[int], turns: list[tuple[str, int, int, bool]]) -> None:
    """Dry runs are kept where nothing changed, and find what dry runs made afresh find, whenever that is."""
    twins = full_cluster(starts)
    for what, which, choice, is_carried_out in turns:
        if what:
            CHANGES[what](twins, which, choice, choice, 0)
        twins.clock.advance(choice)
        raw = pool.pod("important")
        decision = decide_and_compare(twins, raw)
        if is_carried_out and decision.nominate:
            for victim in decision.victims:
                twins.remove_pod(victim.uid)
            twins.place(raw, decision.nominate, assume=True)


def test_dry_runs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second pod of a kind makes none, and a third only where the node changed."""
    twins = full_cluster([1] * 12)
    evaluation = twins.kept.profiles["default-scheduler"].evaluation
    tried: list[int] = []
    what_if = evaluation.amounts_what_if

    def noted(state: CycleState, pod: Pod, rows: IntArray, *more: Any) -> Any:
        tried.extend(rows.tolist())
        return what_if(state, pod, rows, *more)

    monkeypatch.setattr(evaluation, "amounts_what_if", noted)
    for expected in ([0, 1, 2, 3, 4, 5], [], [3]):
        decide_and_compare(twins, pool.pod("important"))
        assert sorted(tried) == expected
        tried.clear()
        if not expected:
            twins.place(pool.pod("small"), NODE_NAMES[3])


@pytest.mark.parametrize("template", pool.TEMPLATE_NAMES)
def test_runs_of_one_template_are_exact(template: str) -> None:
    """Pods alike, each placed where it was decided, with one node changed now and then."""
    twins = small_cluster()
    for kind, raw in pool.OBJECTS:
        twins.set_object(kind, raw)
    for turn in range(7):
        raw = pool.pod(template)
        decision = decide_and_compare(twins, raw)
        if decision.node_name:
            twins.place(raw, decision.node_name, assume=True)
        if turn % 2:
            _relabel_node(twins, turn, turn, turn, 0)


@pytest.mark.parametrize(
    ("kind", "raw"), pool.OBJECTS, ids=[f"{kind.KIND} {raw['metadata']['name']}" for kind, raw in pool.OBJECTS]
)
def test_objects_that_come_and_go_are_noticed(kind: type[KubeObject], raw: pool.Raw) -> None:
    """What was learned of pods alike is forgotten when an object comes or goes."""
    twins = small_cluster()
    for change in (lambda *_: None, twins.set_object, twins.remove_object):
        change(kind, raw)
        for template in pool.TEMPLATE_NAMES:
            decide_and_compare(twins, pool.pod(template))


def test_more_pods_than_are_remembered() -> None:
    """When there are more kinds of pods than room, the oldest are asked about again."""
    twins = small_cluster()

    def odd(milli: int) -> pool.Raw:
        raw = pool.pod("small")
        raw["spec"] = {**raw["spec"], "containers": [pool.container({"cpu": f"{milli}m"})]}
        return raw

    for milli in range(600):
        twins.kept.decide(Pod.from_dict(odd(milli)))
    twins.place(pool.pod("large"), "n3")
    for milli in (0, 1, 599, 0):
        decide_and_compare(twins, odd(milli))


def test_more_changes_than_are_remembered() -> None:
    """Whoever looks after very many changes asks about every node."""
    twins = small_cluster()
    decide_and_compare(twins, pool.pod("small"))
    node = Node.from_dict(twins.nodes["n1"])
    for _ in range(9000):
        twins.kept.cache.set_node(node)
    twins.set_node(pool.node("n1", (3, 3, 1, 1, False)))
    decide_and_compare(twins, pool.pod("small"))


# --- answers that fail ------------------------------------------------------------------------------------


class Fickle(Plugin):
    """Could be kept; fails as long as it is told to."""

    name = "Fickle"
    reads = Reads.USAGE
    fails: ClassVar[str] = ""

    def sign(self, pod: Pod) -> str:
        return ""

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict | Status:
        return Status.failed("broken") if self.fails == "filter" else nodes.accept_all()

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray | Status:
        return Status.failed("broken") if self.fails == "score" else nodes.pod_counts() * 10


@pytest.mark.parametrize("n_changed", [0, 1, 8], ids=["nothing changed", "one node changed", "all nodes changed"])
@pytest.mark.parametrize("point", ["filter", "score"])
def test_failure_is_not_kept(point: str, n_changed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin that fails is asked again; what it said before stands only where nothing changed since."""
    harness = Harness(nodes=[make_node(f"n{i}") for i in range(8)], plugins=[Fickle])
    monkeypatch.setattr(Fickle, "fails", point)
    assert harness.decide(make_pod("p")).reason == "SchedulerError"
    monkeypatch.setattr(Fickle, "fails", "")
    assert harness.decide(make_pod("p")).node_name
    for i in range(n_changed):
        harness.add(make_pod(f"load{i}", node_name=f"n{i}"))
    monkeypatch.setattr(Fickle, "fails", point)
    assert bool(harness.decide(make_pod("p")).node_name) is (n_changed == 0)
    monkeypatch.setattr(Fickle, "fails", "")
    decision = harness.decide(make_pod("p"))
    assert decision.scores is not None
    raw = decision.scores.by_plugin["Fickle"].raw
    assert sorted(raw.tolist()) == [0] * (8 - n_changed) + [10] * n_changed


# --- scores that are all the same -------------------------------------------------------------------------


class Level(Plugin):
    """Scores labelled nodes higher; its normalising looks at how many nodes there are, so it must be asked."""

    name = "Level"
    reads = Reads.NODE
    asked: ClassVar[list[int]] = []

    def sign(self, pod: Pod) -> str:
        return ""

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        return np.where(nodes.label("fine") == "yes", 30, 10)

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        self.asked.append(len(nodes))
        return scores + len(nodes)


class LevelAlone(Level):
    """The same, but each score is looked at by itself."""

    name = "LevelAlone"

    @scores_alone
    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        self.asked.append(len(nodes))
        return scores + 7


@pytest.mark.parametrize(
    ("plugin", "has_fine_node", "asked"),
    [
        pytest.param(Level, False, [3, 3, 2, 3], id="looks at the nodes"),
        pytest.param(LevelAlone, False, [3, 3], id="looks at the scores alone"),
        pytest.param(LevelAlone, True, [3, 3, 2, 3], id="scores differ"),
    ],
)
def test_even_scores_are_normalised_once(
    plugin: type[Level], has_fine_node: bool, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For another selection of nodes with the same score, only where that cannot matter; nothing is kept of the
    first pod."""
    monkeypatch.setattr(Level, "asked", [])
    labels: list[dict[str, str]] = [{"disk": "ssd"}, {"disk": "ssd"}, {"fine": "yes"} if has_fine_node else {}]
    nodes = [make_node(f"n{i}", labels=own) for i, own in enumerate(labels)]
    harness = Harness(nodes=nodes, plugins=[plugin])

    harness.decide(make_pod("first"))
    found = []
    for spec in ({}, {"nodeSelector": {"disk": "ssd"}}, {}):
        scores = harness.decide(make_pod("p", spec=spec)).scores
        assert scores is not None
        found.append(scores.by_plugin[plugin.name].normalized.tolist())

    more = [7, 7, 7] if plugin is LevelAlone else [3, 2, 3]
    last = 30 if has_fine_node else 10
    assert found == [
        [10 + more[0]] * 2 + [last + more[0]],
        [10 + more[1]] * 2,
        [10 + more[2]] * 2 + [last + more[2]],
    ]
    assert Level.asked == asked


# --- the comparison can fail -------------------------------------------------------------------------


def _some_changes() -> list[Step]:
    """Changes and decisions such that every shortcut is taken."""
    found: list[Step] = []
    for turn in range(60):
        found.append(("change a node", turn, turn, turn, 0))
        found += [(DECIDE, 1, template, 0, 0) for template in (1, 7, 10)]
    return found


#: Machine code calls its own parts directly, whatever a test has put in their place; the source is the same.
can_be_broken = pytest.mark.skipif(IS_COMPILED, reason="compiled modules cannot be broken on purpose")


def test_some_changes_are_exact() -> None:
    """The sequence of the following tests passes as long as nothing is broken."""
    run(_some_changes())


@can_be_broken
def test_change_that_is_not_logged_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change log that tells of no change leaves wrong answers standing, and the comparison says so."""
    nothing = np.array([], dtype=np.int64)
    monkeypatch.setattr(ChangeLog, "since", lambda self, position: nothing)
    with pytest.raises(AssertionError):
        run(_some_changes())


@can_be_broken
def test_update_taken_for_a_confirmation_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that was resized counts for more; if it were taken for the same, the comparison would say so."""
    monkeypatch.setattr("bayplan.cache.cache._are_counted_alike", lambda old, new: True)
    with pytest.raises(AssertionError):
        run(
            step
            for turn in range(6)
            for step in (
                ("confirm a pod", turn, 2 + turn % 2, 0, 0),
                *[(DECIDE, 3, each, 0, 0) for each in range(14)],
            )
        )


@can_be_broken
def test_scores_patched_in_the_wrong_place_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that are brought up to date at another node's position are wrong, and the comparison says so."""
    monkeypatch.setattr(RunningTotals, "_in_table", lambda self, rows: (rows, rows * 0))
    # Scores that differ are normalised, so that some tables of feasible nodes have running totals of their own.
    tainted: Step = ("set a node", 1, 0, 3, 1)
    with pytest.raises(AssertionError):
        run([tainted, *[(DECIDE, 1, template, 0, 0) for template in (0, 1, 2) for _ in range(12)]])


@can_be_broken
def test_choice_among_all_nodes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of all nodes may be one that was rejected; taking it is wrong, and the comparison says so."""
    monkeypatch.setattr(RunningTotals, "best_of", lambda self, mask: self.highest.positions())
    with pytest.raises(AssertionError):
        run([(DECIDE, 1, template, 0, 0) for template in (0, 1, 2) for _ in range(12)])


def test_sign_that_leaves_something_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin whose sign forgets what it looks at gets another pod's answer, and the comparison says so."""
    _, registry = _composed()
    monkeypatch.setattr(registry.get("NodeResourcesFit").plugin, "sign", lambda self, pod: "same")
    with pytest.raises(AssertionError):
        run([(DECIDE, 3, template, 0, 0) for template in (1, 2, 3, 1, 2, 3)])


def test_a_class_that_is_cached_for_too_long_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equivalence classes that outlive a change of objects give the old result, and the comparison fails."""
    monkeypatch.setattr(ObjectStores, "_note_change", lambda self: None)
    twins = small_cluster()
    service = next(raw for kind, raw in pool.OBJECTS if kind is Service)
    decide_and_compare(twins, pool.pod("small"))
    twins.set_object(Service, service)
    with pytest.raises(AssertionError):
        decide_and_compare(twins, pool.pod("small"))
