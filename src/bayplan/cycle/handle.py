"""ProfileHandle: the handle that the plugins of one profile are given.

It is made before the plugins are, because they are constructed with it, and completed when the profile's
runner exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.cycle.evaluation import ProfileEvaluation
    from bayplan.framework import Client, Clock, EventRecorder, Informers, Nominator, WaitingPods
    from bayplan.model import Pod


class NotConnected:
    """Stands where a part of the handle is missing: says so when it is used, instead of being None."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> object:
        raise RuntimeError(f"this handle has no {self._what}: there is no cluster behind it")


@dataclass(slots=True)
class ProfileHandle:
    """Implements `framework.Handle`."""

    profile_name: str
    clock: Clock
    snapshot: CacheSnapshot
    informers: Informers
    nominator: Nominator
    client: Client = field(default_factory=lambda: NotConnected("client"))  # type: ignore[assignment, return-value]
    recorder: EventRecorder = field(default_factory=lambda: NotConnected("event recorder"))  # type: ignore[assignment, return-value]
    waiting_pods: WaitingPods = field(default_factory=lambda: NotConnected("waiting pods"))  # type: ignore[assignment, return-value]
    evaluation: ProfileEvaluation = field(default_factory=lambda: NotConnected("evaluation"))  # type: ignore[assignment, return-value]
    on_activate: Callable[[Iterable[Pod]], None] = lambda pods: None

    def activate(self, pods: Iterable[Pod]) -> None:
        self.on_activate(pods)
