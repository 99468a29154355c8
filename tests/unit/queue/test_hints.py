"""Hints: whom an event is told, and what becomes of the pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.queue.support import FOO_ADD, NODE_ADD, NODE_LABEL, PROFILE, no_handle, profile_of

from bayplan.framework import Action, ClusterEvent, Hint, Plugin, Resource
from bayplan.model import Pod
from bayplan.queue import EXTENDER, QueuedPodInfo, QueueEvent
from bayplan.queue.events import ASSIGNED_POD_ADD, FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT, UNSCHEDULED_POD_UPDATE
from bayplan.queue.hints import QueueingHints, Strategy
from bayplan.testing import make_pod

NODE_TAINT = QueueEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)
CLAIM_UPDATE = QueueEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.UPDATE)


def plugin(name: str, *events: ClusterEvent, registers: bool = True) -> Plugin:
    def accept(self: Plugin, state: Any, pod: Pod, node: Any) -> None: ...

    body: dict[str, Any] = {"name": name, "filter": accept}
    if registers:
        body["events_to_register"] = events
    made: Plugin = type(name, (Plugin,), body)(None, no_handle())
    return made


def always(answer: Hint) -> Callable[[Any, Any, Any], Hint]:
    return lambda pod, old, new: answer


def rejected(*plugins: str, pending: tuple[str, ...] = (), pod: Pod | None = None) -> QueuedPodInfo:
    info = QueuedPodInfo(pod if pod is not None else make_pod("p"), 0.0)
    info.note_failure(plugins, pending)
    return info


@pytest.mark.parametrize(
    ("registered", "event", "expected"),
    [
        pytest.param(ClusterEvent(Resource.NODE, Action.ADD), NODE_ADD, True, id="the same"),
        pytest.param(ClusterEvent(Resource.NODE, Action.ADD), NODE_LABEL, False, id="another action"),
        pytest.param(ClusterEvent(Resource.POD, Action.ADD), NODE_ADD, False, id="another resource"),
        pytest.param(ClusterEvent(Resource.NODE, Action.UPDATE), NODE_LABEL, True, id="any update"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ADD), NODE_ADD, True, id="any resource"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ADD), NODE_LABEL, False, id="any resource, one action"),
        pytest.param(ClusterEvent(Resource.ANY, Action.ALL), FOO_ADD, True, id="anything"),
        pytest.param(ClusterEvent(Resource.POD, Action.ADD), ASSIGNED_POD_ADD, True, id="pods on nodes"),
        pytest.param(ClusterEvent(Resource.POD, Action.UPDATE), UNSCHEDULED_POD_UPDATE, True, id="waiting pods"),
        pytest.param(
            ClusterEvent(Resource.POD, Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE),
            UNSCHEDULED_POD_UPDATE,
            False,
            id="a general update is not for those who wait for narrower ones",
        ),
        pytest.param(
            ClusterEvent(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE),
            CLAIM_UPDATE,
            True,
            id="a general update of something else",
        ),
    ],
)
def test_event_reaches_those_who_wait_for_it(registered: ClusterEvent, event: QueueEvent, expected: bool) -> None:
    hints = QueueingHints({PROFILE: profile_of(plugin("A", registered))})

    assert hints.interested(event) == ({"A"} if expected else set())


def test_labels_are_those_of_the_metrics() -> None:
    assert [event.label for event in (NODE_TAINT, ASSIGNED_POD_ADD, UNSCHEDULED_POD_UPDATE, CLAIM_UPDATE)] == [
        "NodeUpdateNodeTaint",
        "AssignedPodAdd",
        "UnschedulablePodUpdate",
        "PersistentVolumeClaimUpdate",
    ]
    assert QueueEvent(Resource.STORAGE_CLASS, Action.ADD).label == "storage.k8s.io/StorageClassAdd"
    assert FORCE_ACTIVATE.label == "ForceActivate"


@pytest.mark.parametrize(
    ("answer", "expected"), [(Hint.QUEUE, Strategy.AFTER_BACKOFF), (Hint.SKIP, Strategy.SKIP)]
)
def test_hint_decides(answer: Hint, expected: Strategy) -> None:
    event = ClusterEvent(Resource.NODE, Action.ADD, always(answer))
    hints = QueueingHints({PROFILE: profile_of(plugin("A", event))})

    assert hints.strategy(rejected("A"), NODE_ADD, None, "n") is expected


def test_only_rejectors_are_asked() -> None:
    asked: list[str] = []

    def ask(name: str) -> ClusterEvent:
        def hint(pod: Any, old: Any, new: Any) -> Hint:
            asked.append(name)
            return Hint.SKIP

        return ClusterEvent(Resource.NODE, Action.ADD, hint)

    hints = QueueingHints({PROFILE: profile_of(plugin("A", ask("A")), plugin("B", ask("B")))})

    assert hints.strategy(rejected("B"), NODE_ADD, None, "n") is Strategy.SKIP
    assert asked == ["B"]


def test_hint_that_raises_counts_as_queue(caplog: pytest.LogCaptureFixture) -> None:
    def broken(pod: Any, old: Any, new: Any) -> Hint:
        raise ValueError("no idea")

    hints = QueueingHints({PROFILE: profile_of(plugin("A", ClusterEvent(Resource.NODE, Action.ADD, broken)))})

    assert hints.strategy(rejected("A"), NODE_ADD, None, "n") is Strategy.AFTER_BACKOFF
    assert "plugin=A pod=default/p event=NodeAdd" in caplog.text


def test_pending_plugin_spares_the_backoff() -> None:
    """Even if another plugin, asked before it, would be content with less."""
    node_add = ClusterEvent(Resource.NODE, Action.ADD)
    hints = QueueingHints({PROFILE: profile_of(plugin("A", node_add), plugin("B", node_add))})

    assert hints.strategy(rejected("A", "B", pending=("B",)), NODE_ADD, None, "n") is Strategy.IMMEDIATELY
    assert hints.strategy(rejected("A", "C", pending=("C",)), NODE_ADD, None, "n") is Strategy.AFTER_BACKOFF


def test_pod_without_rejectors_is_always_worth_it() -> None:
    hints = QueueingHints({PROFILE: profile_of(plugin("A"))})

    assert hints.strategy(rejected(), NODE_ADD, None, "n") is Strategy.AFTER_BACKOFF


def test_wildcard_events_are_for_all_or_for_one_pod() -> None:
    hints = QueueingHints({PROFILE: profile_of(plugin("A"))})
    mine, other = make_pod("mine"), make_pod("other")

    assert hints.strategy(rejected("A"), UNSCHEDULABLE_TIMEOUT, None, None) is Strategy.AFTER_BACKOFF
    assert hints.strategy(rejected("A", pod=mine), FORCE_ACTIVATE, None, mine) is Strategy.AFTER_BACKOFF
    assert hints.strategy(rejected("A", pod=mine), FORCE_ACTIVATE, None, other) is Strategy.SKIP


def test_plugin_that_registers_nothing_is_told_everything() -> None:
    """No registration means any event; an empty one means none."""
    silent, deaf = plugin("Silent", registers=False), plugin("Deaf")
    hints = QueueingHints({PROFILE: profile_of(silent, deaf)})

    assert hints.interested(NODE_LABEL) == {"Silent"}
    assert hints.strategy(rejected("Silent"), FOO_ADD, None, "n") is Strategy.AFTER_BACKOFF
    assert hints.strategy(rejected("Deaf"), FOO_ADD, None, "n") is Strategy.SKIP


def test_plugin_that_cannot_reject_is_told_nothing() -> None:
    """One that only sorts or scores has no pod to wake."""
    hints = QueueingHints({PROFILE: profile_of(plugin("A"))})

    assert hints.interested(NODE_ADD) == set()


@pytest.mark.parametrize(
    ("registered", "expected"),
    [
        pytest.param((ClusterEvent(Resource.NODE, Action.ADD, always(Hint.SKIP)),), True, id="new nodes only"),
        pytest.param(
            (ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, always(Hint.SKIP)),),
            False,
            id="taints too, with a hint",
        ),
        pytest.param((ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL),), False, id="no new nodes"),
    ],
)
def test_who_waits_for_nodes_hears_of_taints(registered: tuple[ClusterEvent, ...], expected: bool) -> None:
    """A new node is often tainted at first, so its taints going counts as its coming, whatever the hint says."""
    hints = QueueingHints({PROFILE: profile_of(plugin("A", *registered))})
    wanted = Strategy.AFTER_BACKOFF if expected else Strategy.SKIP

    assert hints.strategy(rejected("A"), NODE_TAINT, "old", "new") is wanted


def test_profiles_have_their_own_hints() -> None:
    with_hint = plugin("A", ClusterEvent(Resource.NODE, Action.ADD, always(Hint.SKIP)))
    without = plugin("A", ClusterEvent(Resource.NODE, Action.ADD))
    hints = QueueingHints({"one": profile_of(with_hint, name="one"), "two": profile_of(without, name="two")})

    for name, expected in (("one", Strategy.SKIP), ("two", Strategy.AFTER_BACKOFF)):
        pod = make_pod("p", scheduler_name=name)
        assert hints.strategy(rejected("A", pod=pod), NODE_ADD, None, "n") is expected


def test_unknown_profile_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    hints = QueueingHints({PROFILE: profile_of()})
    info = rejected("A", pod=make_pod("p", scheduler_name="gone"))

    assert hints.strategy(info, NODE_ADD, None, "n") is Strategy.AFTER_BACKOFF
    assert "profile=gone" in caplog.text


def test_any_event_may_change_an_extender() -> None:
    hints = QueueingHints({PROFILE: profile_of()}, has_extenders=True)

    assert hints.strategy(rejected(EXTENDER), NODE_LABEL, None, "n") is Strategy.AFTER_BACKOFF
