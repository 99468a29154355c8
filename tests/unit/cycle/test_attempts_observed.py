"""Whoever observes attempts hears how each of them goes, and the log tells it in kube-scheduler's words."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from bayplan.cycle.attempts import Attempts
from bayplan.cycle.failure import Failure
from bayplan.framework import Status

pytestmark = pytest.mark.asyncio


class Heard:
    """Implements `AttemptObserver`."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def started(self, profile: str) -> None:
        self.calls.append(("started", profile))

    def decided(self, profile: str, state: Any, decision: Any) -> None:
        self.calls.append(("decided", profile))

    def failed(self, profile: str, *, is_rejection: bool, seconds: float) -> None:
        assert seconds >= 0
        self.calls.append(("failed", is_rejection))

    def bound(self, profile: str, info: Any, seconds: float) -> None:
        self.calls.append(("bound", info.attempts))


class Parts:
    """The stations of an attempt that goes as a test wants it to."""

    def __init__(self, *, node: str = "a", refused: Failure | None = None, raises: bool = False) -> None:
        from types import SimpleNamespace

        from bayplan.testing import make_pod

        self.heard = Heard()
        status = Status.success() if node else Status.unschedulable("full")
        decision = SimpleNamespace(
            record=SimpleNamespace(message=""),
            node_name=node,
            nominate="",
            status=status,
            message="full",
            diagnosis=None,
            victims=(),
        )
        self.handled: list[Failure] = []

        def schedule(pod: Any, state: Any) -> Any:
            if raises:
                raise RuntimeError("broken")
            return decision

        async def bind(commitment: Any) -> Failure | None:
            return refused

        nothing = SimpleNamespace(
            is_assumed=lambda uid: False,
            finish_binding=lambda uid: None,
            done=lambda uid: None,
            move_all_to_active_or_backoff=lambda *_: None,
        )
        pod = make_pod("p")
        profile = SimpleNamespace(
            cycle=SimpleNamespace(schedule=schedule),
            committer=SimpleNamespace(
                commit=lambda *_: SimpleNamespace(pod=pod, record=decision.record),
                withdraw=lambda commitment: None,
            ),
            binding_cycle=SimpleNamespace(run=bind),
            failures=SimpleNamespace(handle=lambda info, failure: self.handled.append(failure)),
            make_room=lambda *_: None,
        )
        self.binding: list[Any] = []
        self.attempts = Attempts(
            {"default-scheduler": profile},
            nothing,  # type: ignore[arg-type]
            nothing,  # type: ignore[arg-type]
            start=self.binding.append,
            observer=self.heard,
        )
        self.info: Any = SimpleNamespace(pod=pod, attempts=3, cycle=1)

    async def go(self) -> list[tuple[Any, ...]]:
        self.attempts.attempt(self.info)
        for binding in self.binding:
            await binding
        assert self.attempts.n_binding == 0
        return self.heard.calls[1:]


async def test_a_bound_pod(caplog: pytest.LogCaptureFixture) -> None:
    """Started, decided, bound."""
    caplog.set_level(logging.INFO - 4, "bayplan")

    assert await Parts().go() == [("decided", "default-scheduler"), ("bound", 3)]

    assert caplog.messages == ["About to try and schedule pod", "Attempting to schedule pod"]


@pytest.mark.parametrize(
    ("status", "is_rejection"), [(Status.unschedulable("no"), True), (Status.failed("409"), False)]
)
async def test_a_refused_bind(status: Status, is_rejection: bool) -> None:
    """A rule that says no is told apart from what went wrong."""
    parts = Parts(refused=Failure(status, status.message))

    assert await parts.go() == [("decided", "default-scheduler"), ("failed", is_rejection)]
    assert len(parts.handled) == 1


async def test_no_node() -> None:
    """The decision is heard of before the failure."""
    assert await Parts(node="").go() == [("decided", "default-scheduler"), ("failed", True)]


async def test_a_bug_of_ours() -> None:
    """It is an error of one attempt."""
    assert await Parts(raises=True).go() == [("failed", False)]
