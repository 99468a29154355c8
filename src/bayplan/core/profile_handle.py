"""ProfileHandle: the handle that the plugins of one profile are given."""

from __future__ import annotations

import copy
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from bayplan.core.background_work import NoBackground
from bayplan.core.messages import RecordEvent
from bayplan.core.plugin_metrics import OwnMetrics, PluginMetrics
from bayplan.core.plugin_scope import PluginInformers, PluginScope
from bayplan.model import KubeObject

if TYPE_CHECKING:
    from bayplan.cache import CacheSnapshot
    from bayplan.cache.object_store import ObjectStores
    from bayplan.core.messages import Instruction
    from bayplan.core.profile import Profile
    from bayplan.devices import DeviceManager
    from bayplan.framework import BackgroundTask, Client, Clock, Evaluation, EventRecorder, Nominator, WaitingPods
    from bayplan.framework.extenders import Extender
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
    """Implements `framework.Handle`. Each plugin has a copy of its own: see `of_plugin`."""

    def __init__(
        self,
        profile_name: str,
        *,
        profiles: Mapping[str, Profile],
        release: Release,
        clock: Clock,
        snapshot: CacheSnapshot,
        objects: ObjectStores,
        nominator: Nominator,
        waiting_pods: WaitingPods,
        loads: LoadFeeds,
        client: Client,
        recorder: EventRecorder,
        activate: Callable[[Iterable[Pod]], None],
        is_preempting: Callable[[Pod], bool],
        devices: Callable[[], DeviceManager],
        start: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
        metrics: PluginMetrics,
        extenders: Sequence[Extender] = (),
        is_stopping: Callable[[], bool] = lambda: False,
        seed: int | None = None,
    ) -> None:
        """*profiles* has this profile as soon as its plugins are constructed."""
        self.profile_name = profile_name
        self.release = release
        self.clock = clock
        self.seed = seed
        self.snapshot = snapshot
        self.extenders = extenders
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
        self._objects = objects
        self._plugin_metrics = metrics
        self._is_stopping = is_stopping
        self._use(PluginScope(profile_name, objects, NoBackground()))

    def of_plugin(self, scope: PluginScope) -> ProfileHandle:
        """The handle of one plugin: what it asks for and starts belongs to *scope*."""
        own = copy.copy(self)
        own._use(scope)
        return own

    def _use(self, scope: PluginScope) -> None:
        self._scope = scope
        self.metrics = OwnMetrics(self._plugin_metrics, scope)
        scope.at_end(lambda: self._plugin_metrics.release(scope))
        self.informers = PluginInformers(self._objects, scope)

    def spawn(
        self, work: Coroutine[Any, Any, object] | Callable[[], Coroutine[Any, Any, object]], *, name: str = ""
    ) -> BackgroundTask:
        return self._scope.spawn(work, name=name)

    @property
    def is_stopping(self) -> bool:
        return self._scope.is_over or self._is_stopping()

    @property
    def devices(self) -> DeviceManager:
        return self._devices()

    @property
    def evaluation(self) -> Evaluation:
        profile = self._profiles.get(self.profile_name)
        if profile is None:
            raise RuntimeError("handle.evaluation is not available in a plugin's constructor: use it when called")
        return profile.evaluation
