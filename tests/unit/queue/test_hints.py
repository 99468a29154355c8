"""Queueing hints: which plugins an event concerns, and where the pod goes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.queue.support import FOO_ADD, NODE_ADD, NODE_LABEL, PROFILE, no_handle, profile_of

from bayplan.framework import Action, ClusterEvent, Hint, Plugin, Resource
from bayplan.framework.extenders import EXTENDER
from bayplan.model import Pod
from bayplan.queue import QueuedPodInfo, QueueEvent
from bayplan.queue.cluster_events import FORCE_ACTIVATE, UNSCHEDULABLE_TIMEOUT
from bayplan.queue.hints import QueueingHints, QueueingStrategy
from bayplan.release import release_named
from bayplan.testing import make_pod

NODE_TAINT = QueueEvent(Resource.NODE, Action.UPDATE_NODE_TAINT)


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


@pytest.mark.parametrize(("event", "expected"), [(NODE_ADD, {"A"}), (NODE_LABEL, set())])
def test_event_interests_plugins_that_registered_for_it(event: QueueEvent, expected: set[str]) -> None:
    hints = QueueingHints({PROFILE: profile_of(plugin("A", ClusterEvent(Resource.NODE, Action.ADD)))})

    assert hints.interested(event) == expected


@pytest.mark.parametrize(
    ("answer", "expected"), [(Hint.QUEUE, QueueingStrategy.AFTER_BACKOFF), (Hint.SKIP, QueueingStrategy.SKIP)]
)
def test_hint_decides(answer: Hint, expected: QueueingStrategy) -> None:
    event = ClusterEvent(Resource.NODE, Action.ADD, always(answer))
    hints = QueueingHints({PROFILE: profile_of(plugin("A", event))})

    assert hints.strategy(rejected("A"), NODE_ADD, None, "n") is expected


def test_only_hints_of_rejectors_are_called() -> None:
    called: list[str] = []

    def record(name: str) -> ClusterEvent:
        def hint(pod: Any, old: Any, new: Any) -> Hint:
            called.append(name)
            return Hint.SKIP

        return ClusterEvent(Resource.NODE, Action.ADD, hint)

    hints = QueueingHints({PROFILE: profile_of(plugin("A", record("A")), plugin("B", record("B")))})

    assert hints.strategy(rejected("B"), NODE_ADD, None, "n") is QueueingStrategy.SKIP
    assert called == ["B"]


def test_hint_that_raises_counts_as_queue(caplog: pytest.LogCaptureFixture) -> None:
    def broken(pod: Any, old: Any, new: Any) -> Hint:
        raise ValueError("no idea")

    hints = QueueingHints({PROFILE: profile_of(plugin("A", ClusterEvent(Resource.NODE, Action.ADD, broken)))})

    assert hints.strategy(rejected("A"), NODE_ADD, None, "n") is QueueingStrategy.AFTER_BACKOFF
    assert "plugin=A pod=default/p event=NodeAdd" in caplog.text


def test_pending_plugin_skips_the_backoff() -> None:
    """Even if the hint of another plugin, called before it, asks for a backoff."""
    node_add = ClusterEvent(Resource.NODE, Action.ADD)
    hints = QueueingHints({PROFILE: profile_of(plugin("A", node_add), plugin("B", node_add))})

    assert hints.strategy(rejected("A", "B", pending=("B",)), NODE_ADD, None, "n") is QueueingStrategy.IMMEDIATELY
    assert (
        hints.strategy(rejected("A", "C", pending=("C",)), NODE_ADD, None, "n") is QueueingStrategy.AFTER_BACKOFF
    )


def test_pod_without_rejectors_is_always_retried() -> None:
    hints = QueueingHints({PROFILE: profile_of(plugin("A"))})

    assert hints.strategy(rejected(), NODE_ADD, None, "n") is QueueingStrategy.AFTER_BACKOFF


def test_wildcard_events_are_for_all_or_for_one_pod() -> None:
    hints = QueueingHints({PROFILE: profile_of(plugin("A"))})
    mine, other = make_pod("mine"), make_pod("other")

    assert hints.strategy(rejected("A"), UNSCHEDULABLE_TIMEOUT, None, None) is QueueingStrategy.AFTER_BACKOFF
    assert hints.strategy(rejected("A", pod=mine), FORCE_ACTIVATE, None, mine) is QueueingStrategy.AFTER_BACKOFF
    assert hints.strategy(rejected("A", pod=mine), FORCE_ACTIVATE, None, other) is QueueingStrategy.SKIP


def test_plugin_without_registration_gets_all_events() -> None:
    """No registration means any event; an empty one means none."""
    without, empty = plugin("Without", registers=False), plugin("Empty")
    hints = QueueingHints({PROFILE: profile_of(without, empty)})

    assert hints.interested(NODE_LABEL) == {"Without"}
    assert hints.strategy(rejected("Without"), FOO_ADD, None, "n") is QueueingStrategy.AFTER_BACKOFF
    assert hints.strategy(rejected("Empty"), FOO_ADD, None, "n") is QueueingStrategy.SKIP


def test_plugin_that_cannot_reject_gets_no_events() -> None:
    """One that only sorts or scores has rejected no pods."""
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
def test_registration_for_new_nodes_includes_taints(registered: tuple[ClusterEvent, ...], expected: bool) -> None:
    """In 1.36: a new node is often tainted at first, so that removing its taint counts as adding it, without the
    hint."""
    facts = release_named("1.36").facts
    hints = QueueingHints({PROFILE: profile_of(plugin("A", *registered))}, facts=facts)
    wanted = QueueingStrategy.AFTER_BACKOFF if expected else QueueingStrategy.SKIP

    assert hints.strategy(rejected("A"), NODE_TAINT, "old", "new") is wanted


def test_profiles_have_their_own_hints() -> None:
    with_hint = plugin("A", ClusterEvent(Resource.NODE, Action.ADD, always(Hint.SKIP)))
    without = plugin("A", ClusterEvent(Resource.NODE, Action.ADD))
    hints = QueueingHints({"one": profile_of(with_hint, name="one"), "two": profile_of(without, name="two")})

    for name, expected in (("one", QueueingStrategy.SKIP), ("two", QueueingStrategy.AFTER_BACKOFF)):
        pod = make_pod("p", scheduler_name=name)
        assert hints.strategy(rejected("A", pod=pod), NODE_ADD, None, "n") is expected


def test_pod_of_an_unknown_profile_is_retried(caplog: pytest.LogCaptureFixture) -> None:
    hints = QueueingHints({PROFILE: profile_of()})
    info = rejected("A", pod=make_pod("p", scheduler_name="gone"))

    assert hints.strategy(info, NODE_ADD, None, "n") is QueueingStrategy.AFTER_BACKOFF
    assert "profile=gone" in caplog.text


def test_any_event_may_change_an_extenders_result() -> None:
    hints = QueueingHints({PROFILE: profile_of()}, has_extenders=True)

    assert hints.strategy(rejected(EXTENDER), NODE_LABEL, None, "n") is QueueingStrategy.AFTER_BACKOFF
