"""Handle: what a plugin may reach besides the pod and the nodes it is given.

Given to every plugin's constructor as `self.handle`. Everything here may be kept; what it shows moves with
the cluster. During a scheduling cycle the snapshot stands still.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from bayplan.framework.loads import LoadFeeds
    from bayplan.framework.nodes import NodeTable
    from bayplan.framework.outcomes import FilterOutcome
    from bayplan.framework.status import Status
    from bayplan.framework.verdict import IntArray
    from bayplan.model import KubeObject, Pod

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Clock(Protocol):
    """Time, injected so that a test or a simulation can own it."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back, for measuring."""

    async def sleep(self, seconds: float) -> None:
        """Let others run for *seconds*; only for the binding cycle."""


class Changes(Protocol):
    """What changed in the snapshot since somebody last looked."""

    @property
    def position(self) -> int:
        """To be remembered, and given to `since` the next time."""

    def since(self, position: int) -> IntArray | None:
        """The rows that changed since *position*; None if any may have, or rows were renumbered."""


class Snapshot(Protocol):
    """The cluster as the current cycle sees it."""

    @property
    def nodes(self) -> NodeTable:
        """Every node."""

    @property
    def generation(self) -> int:
        """Changes whenever anything in the snapshot did."""

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


class Lister(Protocol[T_co]):
    """Read access to the objects of one kind, kept up to date by a watch."""

    def get(self, name: str, namespace: str = "") -> T_co | None: ...

    def list(self, namespace: str | None = None) -> Sequence[T_co]: ...


class Informers(Protocol):
    """Objects of any kind in the cluster, custom resources included."""

    def lister(self, kind: type[T]) -> Lister[T]:
        """A lister of a kind of `bayplan.model`, for example `lister(StorageClass)`."""

    def custom(self, api_version: str, plural: str) -> Lister[dict[str, Any]]:
        """A lister of any other resource, as plain dictionaries: `custom("example.com/v1", "foos")`."""

    def on_change(self, kind: type[T], callback: Callable[[T | None, T | None], None]) -> None:
        """Call *callback(old, new)* on every change; old is None on creation, new on deletion."""


class Client(Protocol):
    """The API server, for the binding cycle. Calls raise `ApiError` with the server's status."""

    async def request(self, method: str, path: str, body: object | None = None) -> dict[str, Any]: ...

    async def bind(self, pod: Pod, node_name: str) -> None: ...


class EventRecorder(Protocol):
    """Emits events.k8s.io events."""

    def event(
        self, regarding: KubeObject, *, kind: str, reason: str, action: str, note: str, related: object = None
    ) -> None:
        """*kind* is Normal or Warning; *note* is cut at 1024 bytes as Kubernetes does."""


class WaitingPod(Protocol):
    """A pod that Permit holds."""

    @property
    def pod(self) -> Pod: ...

    @property
    def pending_plugins(self) -> Sequence[str]: ...

    @property
    def is_leaving(self) -> bool:
        """Whether it was rejected, and is about to give its place back."""

    def allow(self, plugin_name: str) -> None:
        """*plugin_name* waits no longer; when no plugin does, the pod is bound."""

    def reject(self, plugin_name: str, message: str) -> bool:
        """Give the pod back to the queue; False if it was decided already."""


class WaitingPods(Protocol):
    def __iter__(self) -> Iterator[WaitingPod]: ...

    def get(self, uid: str) -> WaitingPod | None: ...


class Nominator(Protocol):
    """Pods that were promised a node by preemption and are not there yet."""

    def add(self, pod: Pod, node_name: str) -> None: ...

    def remove(self, pod: Pod) -> None: ...

    def nominated(self, node_name: str) -> Sequence[Pod]: ...

    def nodes(self) -> Collection[str]:
        """The nodes that have nominated pods."""


class AmountsWhatIf(Protocol):
    """Some nodes with amounts requested on them that can be changed: a what-if on all of them at once.

    Pods are moved by their kind, the number of one that requests the same; a node may be named several times.
    """

    def add(self, positions: IntArray, kinds: IntArray) -> None:
        """A pod of kind *kinds[i]* more on the node at *positions[i]*."""

    def remove(self, positions: IntArray, kinds: IntArray) -> None:
        """A pod of kind *kinds[i]* fewer on the node at *positions[i]*."""

    def filter(self) -> FilterOutcome:
        """The profile's Filter plugins on these nodes, nominated pods counted."""


class Evaluation(Protocol):
    """Runs the profile's filters on what-ifs; this is what preemption is made of."""

    def filter_node(self, state: Any, pod: Pod, node_name: str) -> Status:
        """The profile's Filter plugins on one node as it stands, nominated pods counted."""

    def move_pod(self, state: Any, pod: Pod, moved: Pod, node_name: str, *, add: bool) -> Status:
        """Add *moved* to (or remove it from) *node_name* for the length of the what-if, and tell every
        PreFilter plugin about it through add_pod/remove_pod."""

    def what_if(self) -> Any:
        """A context manager: pods moved within it are back where they were when it ends."""

    def waits_for(self, pod: Pod) -> Sequence[Pod]:
        """The pods without a place for which *pod*, if it had one now, would have to wait at Permit."""

    def judges_by_amounts(self, state: Any) -> bool:
        """Whether Filter, for the pod of *state*, looks at nothing of a node but the object and the amounts
        requested on it (`Reads.RESOURCES`)."""

    def rivals(self, pod: Pod) -> Mapping[int, Sequence[Pod]]:
        """Row → the nominated pods there that *pod* must leave room for; rows without are absent."""

    def kept_dry_runs(self, state: Any, pod: Pod) -> dict[int, Any] | None:
        """Row → what was put there for pods like *pod*, where neither the node nor the pods on it have changed
        since; None where more than that decides."""

    def amounts_what_if(
        self, state: Any, pod: Pod, rows: IntArray, kinds: Sequence[Pod], rivals: Mapping[int, Sequence[Pod]]
    ) -> AmountsWhatIf:
        """A what-if on the nodes at *rows* in which pods that request what one of *kinds* does can be moved; only
        where `judges_by_amounts`."""


class Handle(Protocol):
    """See the module's text."""

    @property
    def profile_name(self) -> str: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def seed(self) -> int | None:
        """Of every stream of chance, so that the same one gives the same decisions; None for any."""

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

    def activate(self, pods: Iterable[Pod]) -> None:
        """Try these waiting pods again now, whatever their backoff."""

    def is_preempting(self, pod: Pod) -> bool:
        """Whether victims of *pod* are being evicted and the last of them is not on its way out yet."""
