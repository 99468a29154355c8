"""Handle: what a plugin can use besides the pod and the nodes that it is called with.

Every plugin gets one from its constructor, as `self.handle`. A plugin may keep references to everything here; the
contents follow the cluster. During a scheduling cycle the snapshot does not change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, overload

if TYPE_CHECKING:
    from bayplan.devices import DeviceManager
    from bayplan.framework.evaluator import ScoreOutcome
    from bayplan.framework.extenders import Extender
    from bayplan.framework.load_metrics import LoadFeeds
    from bayplan.framework.nodes import NodeTable
    from bayplan.framework.state import CycleState
    from bayplan.framework.status import Status
    from bayplan.framework.verdict import FilterOutcome, IntArray
    from bayplan.framework.watched_objects import Informers
    from bayplan.model import KubeObject, Pod
    from bayplan.observe.instruments import Counter as Counter
    from bayplan.observe.instruments import Gauge as Gauge
    from bayplan.observe.instruments import Histogram as Histogram
    from bayplan.release import Release

K = TypeVar("K", bound="KubeObject")

#: Of histograms, as in Prometheus' own clients.
DEFAULT_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Clock(Protocol):
    """Time, injected so that a test or a simulation can control it."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back, for measuring."""

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*; only for the binding cycle."""


class Changes(Protocol):
    """A log of the changes of the snapshot."""

    @property
    def position(self) -> int:
        """The end of the log now; pass it to `since` later."""

    def since(self, position: int) -> IntArray | None:
        """The rows that changed since *position*; None if any row may have changed, or rows were renumbered."""


class Snapshot(Protocol):
    """The cluster as the current cycle sees it."""

    @property
    def nodes(self) -> NodeTable:
        """Every node."""

    @property
    def generation(self) -> int:
        """Changes whenever anything in the snapshot changes."""

    @property
    def usage_changes(self) -> Changes:
        """The rows whose node or pods changed."""

    @property
    def node_changes(self) -> Changes:
        """The rows whose node changed."""

    @property
    def lowest_priority(self) -> int | None:
        """The lowest priority of a pod on any node; None if there is none."""

    def pods(self) -> Iterable[Pod]:
        """Every pod on any node."""


class Client(Protocol):
    """The API server, for the binding cycle and for background work. Calls are authenticated as the scheduler, are
    subject to its rate limit, and raise `ApiError` with the server's status; writes fail once another replica
    leads.

    *kind* is a class of `bayplan.model`, or a name such as `"foos.v1.example.com"`, as for informers. There is no
    update: a typed object has not all fields, and would delete the others. Patch what changes.
    """

    async def request(
        self, method: str, path: str, body: object | None = None, *, content_type: str | None = None
    ) -> dict[str, Any]:
        """Any request; a PATCH is a merge patch unless *content_type* says otherwise."""

    async def get_protobuf(self, path: str) -> bytes:
        """An object in protobuf, which keeps every byte of what it was created with; JSON does not."""

    async def bind(self, pod: Pod, node_name: str) -> None: ...

    @overload
    async def get(self, kind: type[K], name: str, namespace: str = "") -> K: ...

    @overload
    async def get(self, kind: str, name: str, namespace: str = "") -> dict[str, Any]: ...

    async def get(self, kind: Any, name: str, namespace: str = "") -> Any:
        """One object, as it is now; `NotFoundError` if there is none."""

    @overload
    async def list(
        self, kind: type[K], namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Sequence[K]: ...

    @overload
    async def list(
        self, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Sequence[dict[str, Any]]: ...

    async def list(self, kind: Any, namespace: str = "", *, labels: str = "", fields: str = "") -> Sequence[Any]:
        """The objects of one namespace, or of all; an informer is cheaper for what is read often."""

    @overload
    async def create(self, kind: type[K], body: Mapping[str, Any] | K, namespace: str = "") -> K: ...

    @overload
    async def create(self, kind: str, body: Mapping[str, Any], namespace: str = "") -> dict[str, Any]: ...

    async def create(self, kind: Any, body: Any, namespace: str = "") -> Any:
        """The object as the server has stored it; `ConflictError` if there is one of this name."""

    @overload
    async def patch(
        self, kind: type[K], name: str, patch: Mapping[str, Any], namespace: str = "", *, subresource: str = ""
    ) -> K: ...

    @overload
    async def patch(
        self, kind: str, name: str, patch: Mapping[str, Any], namespace: str = "", *, subresource: str = ""
    ) -> dict[str, Any]: ...

    async def patch(
        self, kind: Any, name: str, patch: Mapping[str, Any], namespace: str = "", *, subresource: str = ""
    ) -> Any:
        """A merge patch: its fields are changed, those that are None removed. *subresource*: such as `status`."""

    async def delete(self, kind: type[KubeObject] | str, name: str, namespace: str = "") -> bool:
        """False if there is none."""


class EventRecorder(Protocol):
    """Emits events.k8s.io events."""

    def event(
        self, regarding: KubeObject, *, kind: str, reason: str, action: str, note: str, related: object = None
    ) -> None:
        """*kind* is Normal or Warning; *note* is cut at 1024 bytes as Kubernetes does."""


class Metrics(Protocol):
    """Metrics of a plugin's own, scraped on /metrics. Declare them in the constructor, and use the result::

        self._rejected = handle.metrics.counter("racks_rejected_total", "Pods that no rack can take.", "rack")
        …
        self._rejected.labels("r1").inc()

    All instances of the plugin share a metric, and its numbers survive a reload. A name that another plugin has,
    or that begins as the scheduler's own do (`scheduler_`, `bayplan_`, …), is refused.
    """

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """Only ever grows: `labels(…).inc()`. The name ends in `_total`."""

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Goes up and down: `labels(…).set(3)`, `.inc()`, `.inc(-1)`."""

    def histogram(
        self, name: str, text: str, *labels: str, buckets: Sequence[float] = DEFAULT_BUCKETS
    ) -> Histogram:
        """Observations in buckets: `labels(…).observe(0.2)`."""


class BackgroundTask(Protocol):
    """What `Handle.spawn` has started."""

    @property
    def name(self) -> str: ...

    @property
    def is_done(self) -> bool:
        """Whether it has ended, in whatever way."""

    def cancel(self) -> None:
        """End it: it raises `asyncio.CancelledError` where it waits."""


class WaitingPod(Protocol):
    """A pod that waits at Permit."""

    @property
    def pod(self) -> Pod: ...

    @property
    def pending_plugins(self) -> Sequence[str]: ...

    @property
    def is_leaving(self) -> bool:
        """Whether it was rejected, and is about to be unreserved."""

    def allow(self, plugin_name: str) -> None:
        """Let the pod pass for *plugin_name*; when no plugin is left that it waits for, it is bound."""

    def reject(self, plugin_name: str, message: str) -> bool:
        """Return the pod to the queue; False if it was already allowed or rejected."""


class WaitingPods(Protocol):
    """The pods that wait at Permit, of all profiles."""

    def __iter__(self) -> Iterator[WaitingPod]: ...

    def get(self, uid: str) -> WaitingPod | None: ...


class Nominator(Protocol):
    """Pods that are nominated for a node by preemption and are not yet on it."""

    def add(self, pod: Pod, node_name: str) -> None: ...

    def remove(self, pod: Pod) -> None: ...

    def nominated(self, node_name: str) -> Sequence[Pod]: ...

    def nodes(self) -> Collection[str]:
        """The nodes that have nominated pods."""


class AmountsWhatIf(Protocol):
    """A what-if on several nodes at once, in which the amounts requested on them can be changed.

    A pod is identified by its kind, the index of a pod with the same requests. A node may occur several times.
    """

    def add(self, positions: IntArray, kinds: IntArray) -> None:
        """Add a pod of kind *kinds[i]* to the node at *positions[i]*."""

    def remove(self, positions: IntArray, kinds: IntArray) -> None:
        """Remove a pod of kind *kinds[i]* from the node at *positions[i]*."""

    def filter(self) -> FilterOutcome:
        """The profile's Filter plugins on these nodes, nominated pods counted."""


class Evaluation(Protocol):
    """Runs the profile's plugins: the filters on what-ifs, for preemption, and the scoring of nodes.

    Not to be called by a plugin that is itself called by it: a Score plugin that asked for all scores would be
    asked for its own.
    """

    def filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> FilterOutcome:
        """The profile's Filter plugins on some nodes, nominated pods counted. *state* is that of the pod's own
        cycle, in which PreFilter has run."""

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status:
        """The profile's PreScore plugins, which write to *state* what its Score plugins read."""

    def score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        """The profile's Score plugins on these nodes, after `pre_score`: raw, normalized and weighted scores of
        each plugin and their totals, aligned with *nodes*. A Status if a plugin failed."""

    def rank(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        """The whole scoring of a list of nodes, PreScore and Score, on a copy of *state*: the cycle that calls
        goes on as if nothing had been asked. Extenders are not asked."""

    def filter_node(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """The profile's Filter plugins on one node as it stands, nominated pods counted."""

    def move_pod(self, state: CycleState, pod: Pod, moved: Pod, node_name: str, *, add: bool) -> Status:
        """Add *moved* to (or remove it from) *node_name* for the length of the what-if, and tell every
        PreFilter plugin about it through add_pod/remove_pod."""

    def what_if(self) -> AbstractContextManager[None]:
        """A context manager: when it ends, pods moved within it are moved back."""

    def waits_for(self, pod: Pod) -> Sequence[Pod]:
        """The pods without a node that *pod* would wait for at Permit, if it had a node now."""

    def judges_by_amounts(self, state: CycleState) -> bool:
        """Whether Filter, for the pod of *state*, looks at nothing of a node but the object and the amounts
        requested on it (`Reads.RESOURCES`)."""

    def nominated_pods(self, pod: Pod) -> Mapping[int, Sequence[Pod]]:
        """Row → the pods nominated for the node that *pod* must leave room for; rows without are absent."""

    def cached_dry_runs(self, state: CycleState, pod: Pod) -> dict[int, Any] | None:
        """A cache for the pod's equivalence class: row → value. Entries disappear when the node or the pods on it
        change. None if results for these pods depend on more than that."""

    def amounts_what_if(
        self,
        state: CycleState,
        pod: Pod,
        rows: IntArray,
        kinds: Sequence[Pod],
        nominated: Mapping[int, Sequence[Pod]],
    ) -> AmountsWhatIf:
        """A what-if on the nodes at *rows*, in which pods with the same requests as one of *kinds* can be moved.
        Only where `judges_by_amounts`."""


class Handle(Protocol):
    """See the module's docstring."""

    @property
    def profile_name(self) -> str: ...

    @property
    def release(self) -> Release:
        """The release of Kubernetes to follow: ask it for a feature gate, or for one of its facts."""

    @property
    def clock(self) -> Clock: ...

    @property
    def seed(self) -> int | None:
        """The seed of all random choices: the same seed gives the same decisions. None for a random seed."""

    @property
    def snapshot(self) -> Snapshot: ...

    @property
    def informers(self) -> Informers: ...

    @property
    def loads(self) -> LoadFeeds: ...

    @property
    def client(self) -> Client: ...

    @property
    def recorder(self) -> EventRecorder: ...

    @property
    def waiting_pods(self) -> WaitingPods: ...

    @property
    def nominator(self) -> Nominator: ...

    @property
    def evaluation(self) -> Evaluation: ...

    @property
    def devices(self) -> DeviceManager:
        """The devices of the cluster, the claims on them and what is allocated; shared by all profiles."""

    @property
    def metrics(self) -> Metrics:
        """Metrics of the plugin's own."""

    @property
    def extenders(self) -> Sequence[Extender]:
        """The configured HTTP extenders, in their order. Their calls are coroutines: `await extender.filter(…)` in
        the binding cycle or in background work."""

    @property
    def is_stopping(self) -> bool:
        """Whether the scheduler was asked to end, or this instance was replaced by a reload: a long computation
        should give up. May be read from any thread. What is awaited is cancelled by itself: coroutines of
        background work at once, binding cycles if they do not end within 30 seconds."""

    def spawn(
        self, work: Coroutine[Any, Any, object] | Callable[[], Coroutine[Any, Any, object]], *, name: str = ""
    ) -> BackgroundTask:
        """Run *work* in the background, from the start of the scheduler until it ends, the plugin is replaced by a
        reload, or the scheduler stops: then it is cancelled. It runs on every replica, whether it leads or not.

        A coroutine (`spawn(self._poll())`) runs once; an async function (`spawn(self._poll)`) is called again
        after it has failed, first after a second, later after up to a minute. A failure is logged with the
        plugin's name and *name*, which is the function's by default; nothing else is affected.

        It shares the thread of the scheduler: it must await where it waits (`handle.clock.sleep`), and leave to
        `asyncio.to_thread` what blocks. To be called in the scheduler's thread."""

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run *work* beside the binding cycles: for writes that Unreserve and PostFilter have to make."""

    def activate(self, pods: Iterable[Pod]) -> None:
        """Retry these unschedulable pods now, whatever their backoff."""

    def is_preempting(self, pod: Pod) -> bool:
        """Whether victims of *pod* are being evicted and the last of them is not yet terminating."""
