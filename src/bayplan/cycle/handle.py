"""ProfileHandle: the handle that the plugins of one profile are given.

It is made before the plugins are, because they are constructed with it, and completed when the profile's
runner exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from bayplan.framework.loads import LoadFeeds

if TYPE_CHECKING:
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.framework import Client, Clock, Evaluation, EventRecorder, Informers, Nominator, WaitingPods
    from bayplan.model import Pod


class _NotConnected:
    """Stands where a part of the handle is missing: says so when it is used, instead of being None."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"this handle has no {self._what}: there is no cluster behind it")


class ProfileHandle:
    """Implements `framework.Handle`."""

    def __init__(
        self,
        profile_name: str,
        *,
        clock: Clock,
        snapshot: CacheSnapshot,
        informers: Informers,
        nominator: Nominator,
        loads: LoadFeeds | None = None,
        seed: int | None = None,
    ) -> None:
        self.profile_name = profile_name
        self.clock = clock
        self.seed = seed
        self.snapshot = snapshot
        self.informers = informers
        self.nominator = nominator
        self.loads = loads if loads is not None else LoadFeeds()
        # Completed by the composition root, as far as there is something to connect.
        self.client: Client = cast("Client", _NotConnected("client"))
        self.recorder: EventRecorder = cast("EventRecorder", _NotConnected("event recorder"))
        self.waiting_pods: WaitingPods = cast("WaitingPods", _NotConnected("waiting pods"))
        self.evaluation: Evaluation = cast("Evaluation", _NotConnected("evaluation"))
        self.on_activate: Callable[[Iterable[Pod]], None] = lambda pods: _NotConnected("queue").activate(pods)

        self.is_preempting: Callable[[Pod], bool] = lambda pod: False

    def activate(self, pods: Iterable[Pod]) -> None:
        self.on_activate(pods)
