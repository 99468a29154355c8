"""ProfileHandle: the handle that the plugins of one profile are given."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from bayplan.core.messages import RecordEvent
from bayplan.model import KubeObject

if TYPE_CHECKING:
    from bayplan.cache import CacheSnapshot
    from bayplan.core.messages import Instruction
    from bayplan.core.profile import Profile
    from bayplan.devices import DeviceManager
    from bayplan.framework import Client, Clock, Evaluation, EventRecorder, Informers, Nominator, WaitingPods
    from bayplan.framework.load_metrics import LoadFeeds
    from bayplan.model import Pod
    from bayplan.release import Release


class _NoClient:
    """The client of a scheduler without a cluster: says so when it is used, instead of being None."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("this handle has no client: there is no cluster behind it")


NO_CLIENT = cast("Client", _NoClient())


class InstructionRecorder:
    """Implements `framework.EventRecorder`: events of plugins leave the core as instructions."""

    def __init__(self, profile_name: str, emit: Callable[[Instruction], None]) -> None:
        self._profile_name = profile_name
        self._emit = emit

    def event(
        self, regarding: Any, *, kind: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        # Checked here, within the plugin's call: an instruction that cannot be carried out helps nobody.
        if kind not in ("Normal", "Warning"):
            raise ValueError(f"an event is Normal or Warning, not {kind!r}")
        if not isinstance(regarding, KubeObject):
            raise TypeError(f"an event is about an object, not {type(regarding).__name__}")
        self._emit(RecordEvent(self._profile_name, regarding, kind, reason, action, note, related))


class ProfileHandle:
    """Implements `framework.Handle`."""

    def __init__(
        self,
        profile_name: str,
        *,
        profiles: Mapping[str, Profile],
        release: Release,
        clock: Clock,
        snapshot: CacheSnapshot,
        informers: Informers,
        nominator: Nominator,
        waiting_pods: WaitingPods,
        loads: LoadFeeds,
        client: Client,
        recorder: EventRecorder,
        activate: Callable[[Iterable[Pod]], None],
        is_preempting: Callable[[Pod], bool],
        devices: Callable[[], DeviceManager],
        start: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
        seed: int | None = None,
    ) -> None:
        """*profiles* has this profile as soon as its plugins are constructed."""
        self.profile_name = profile_name
        self.release = release
        self.clock = clock
        self.seed = seed
        self.snapshot = snapshot
        self.informers = informers
        self.nominator = nominator
        self.waiting_pods = waiting_pods
        self.loads = loads
        self.client = client
        self.recorder = recorder
        self.activate = activate
        self.is_preempting = is_preempting
        self.start = start
        self._devices = devices
        self._profiles = profiles

    @property
    def devices(self) -> DeviceManager:
        return self._devices()

    @property
    def evaluation(self) -> Evaluation:
        profile = self._profiles.get(self.profile_name)
        if profile is None:
            raise RuntimeError("handle.evaluation is not available in a plugin's constructor: use it when called")
        return profile.evaluation
