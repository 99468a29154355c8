"""The contract between the scheduler and its plugins. `Plugin` is the class to read before writing one.

The runners call what is declared here. `bayplan.framework.contract` checks a class when it is loaded, and rejects
a wrong signature or a misspelt name with a message that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Sequence
from enum import Flag, auto
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    NamedTuple,
    Protocol,
    TypeVar,
    get_args,
    get_origin,
    runtime_checkable,
)

from bayplan.framework.events import ClusterEvent
from bayplan.framework.status import Status
from bayplan.model import Pod

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    from bayplan.config.args import Args
    from bayplan.framework.class_scores import ClassScores
    from bayplan.framework.handle import Handle
    from bayplan.framework.nodes import NodeInfo, NodeTable
    from bayplan.framework.state import CycleState
    from bayplan.framework.verdict import Diagnosis, ScoreArray, Verdict

    # The default is for type checkers alone: `class X(Plugin)` says nothing about its args.
    ArgsT = TypeVarWithDefault("ArgsT", bound="Args | None", default=Any)
else:
    ArgsT = TypeVar("ArgsT")

Method = TypeVar("Method", bound=Callable[..., Any])

_SCORES_ALONE: Final = "looks_at_scores_alone"


class Reads(Flag):
    """What a plugin's Filter and Score read besides the pod: when a cached result is outdated.

    Any value but ANYTHING also means that the plugin's PreFilter and PreScore depend on nothing but what is in
    `Pod.equivalence_key`, and on objects other than nodes and pods. So they are not called for every pod: their
    status and what they write to the cycle state for the second pod of an equivalence class is used for all later
    ones, unless a plugin rejects the pod or returns a PreFilterResult. The written values are then shared between
    pods: only add_pod and remove_pod may change them, and a value that they change must have a `clone` method.
    """

    #: The node object alone (labels, taints, allocatable, …).
    NODE = auto()
    #: Node objects, also of other nodes (for example how many have an image).
    ALL_NODES = auto()
    #: The node object and the amounts that the pods on it request: `requested`, `nonzero_requested` and
    #: `pod_counts` of a table, and nothing else about the pods. Preemption then tries many nodes at once.
    RESOURCES = auto()
    #: The node and the pods on it.
    USAGE = auto()
    #: Anything else (other nodes, other objects, the clock, the plugin's own state): results are never cached.
    ANYTHING = auto()


# --- what methods are given and return ----------------------------------------------------------------------


class QueuedPod(Protocol):
    """A pod in the scheduling queue, as a QueueSort plugin sees it."""

    @property
    def pod(self) -> Pod: ...

    @property
    def timestamp(self) -> float:
        """When the pod last entered the queue."""

    @property
    def initial_attempt_timestamp(self) -> float | None:
        """When the pod first passed PreEnqueue; None before."""

    @property
    def attempts(self) -> int:
        """How often it was tried."""


@runtime_checkable
class Cloneable(Protocol):
    """State that is changed in place by add_pod/remove_pod, and so must be copied for a what-if."""

    def clone(self) -> Any: ...


class Comparable(Protocol):
    """Anything with an order: a number, a string, a tuple of these."""

    def __lt__(self, other: Any, /) -> bool: ...


class PreFilterResult(NamedTuple):
    """The names of the only nodes to evaluate, in any collection; None for all of them."""

    node_names: Collection[str] | None = None

    def merge(self, other: PreFilterResult) -> PreFilterResult:
        """The names in both."""
        if self.node_names is None:
            return other
        if other.node_names is None:
            return self
        return PreFilterResult(frozenset(self.node_names) & frozenset(other.node_names))


class PostFilterResult(NamedTuple):
    """The result of PostFilter."""

    #: Success with a node nominates it; an empty name on a rejection clears an earlier nomination;
    #: None leaves the nomination as it is.
    nominated_node_name: str | None
    status: Status
    #: Pods to be evicted from the nominated node before the pod can run there.
    victims: tuple[Pod, ...] = ()
    #: What was tried, for the record.
    detail: object | None = None


class PreBindPreFlight(NamedTuple):
    """Whether pre_bind may run concurrently with its neighbours in the order of plugins."""

    allow_parallel: bool = False


# --- the contract -------------------------------------------------------------------------------------------


class Plugin(Generic[ArgsT]):
    """Base class of all plugins: set `name`, and define one or more of the methods.

    Defining a method puts the plugin on that extension point as soon as a profile enables it (under `multiPoint`,
    or under the point itself). What a class does not define is not called::

        from bayplan import Args, CycleState, NodeInfo, Plugin, Pod, Status

        class LabelArgs(Args):
            key: str = "cpu"

        class LabelledNodes(Plugin[LabelArgs]):
            "Only nodes that have a certain label."
            name = "LabelledNodes"

            def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
                if self.args.key not in node.labels:
                    return Status.unresolvable(f"node(s) had no label {self.args.key}")
                return None

    `Plugin[LabelArgs]` says what the `pluginConfig` of the plugin is decoded into, and gives `self.args` its type.
    A plugin without arguments derives from `Plugin` alone. Type hints are optional; with them, a type checker
    compares the methods with the declarations below.

    The methods, in the order in which a pod meets them:

    * queue: `pre_enqueue`; `less` or `sort_key`; `events_to_register` says when a rejected pod is retried.
    * scheduling cycle, one pod at a time, over a snapshot that does not change meanwhile. Plain `def`, no I/O:
      `pre_filter` (`add_pod`, `remove_pod`), `filter` or `filter_nodes`, `post_filter` if no node is left,
      `pre_score`, `score` or `score_nodes`, `normalize_score`, `reserve` (`unreserve`), `permit` (`waits_with`,
      `waits_for`).
    * binding cycle, many pods at the same time: `pre_bind_pre_flight`, then the coroutines `pre_bind`, `bind` and
      `post_bind`, which may do I/O.
    * `sign` and `reads` allow results to be cached; `carry_over` takes over state when the file is reloaded.
    * `close` ends what the plugin has opened; `handle.spawn` runs what it does in the background.

    The forms that end in `_nodes` are called once for all nodes, with columns of a `NodeTable`: faster where there
    are many nodes. A class defines one of the two forms. A method may leave out the last parameter of `pre_filter`
    and of `normalize_score`; a type checker then asks for it.

    Results. None means success everywhere. A `Status` means what its code says:

    * `Status.unschedulable("why")`: rejected; evicting pods might help, so preemption considers the node.
    * `Status.unresolvable("why")`: rejected; evicting pods would not help.
    * `Status.pending("why")`: like unschedulable, but it waits for something outside the scheduler; no backoff.
    * `Status.skip()`: nothing to do for this pod.
    * `Status.wait(timeout_seconds=60)`: `permit` only; the pod waits until `handle.waiting_pods` lets it go.
    * `Status.failed(error)`, or an exception: an error. This pod's attempt ends and is retried after a backoff;
      other pods and the scheduler itself are not affected.

    What a plugin is given is read-only: it belongs to the scheduler and is shared by all plugins. Data of one
    attempt belongs in the `CycleState`.
    """

    #: The name used in configurations, events and metrics. Required.
    name: ClassVar[str]

    #: The type of this plugin's `pluginConfig` args, a subclass of `bayplan.Args`; None if it takes none. Set by
    #: `Plugin[…]`.
    Args: ClassVar[type[Args] | None] = None

    #: Extension points of earlier releases, as a configuration spells them: one that still enables the plugin
    #: there gets a warning, not an error.
    former_points: ClassVar[frozenset[str]] = frozenset()

    #: See `sign`. The default caches nothing, which is correct for every plugin.
    reads: ClassVar[Reads] = Reads.ANYTHING

    #: Which events could make a pod schedulable that this plugin rejected: a sequence of `ClusterEvent`, or a
    #: method without parameters that returns one. With the default, any event causes a retry of the pod.
    events_to_register: Sequence[ClusterEvent] | Callable[[], Sequence[ClusterEvent]] | None = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "Args" not in vars(cls) and (found := args_parameter(cls)) is not None:
            cls.Args = None if found is NoneType else found

    def __init__(self, args: ArgsT, handle: Handle) -> None:
        """Called once for each profile that enables the plugin. Override it to set up state of your own, and call
        `super().__init__(args, handle)`."""
        #: An instance of `Args`, defaults filled in; None if the plugin takes none.
        self.args = args
        #: The scheduler as plugins see it: snapshot, informers, client, clock, … See `bayplan.Handle`.
        self.handle = handle

    def __repr__(self) -> str:
        return f"<plugin {self.name}>"

    # --- queue ------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Pod, /) -> Status | None:
        """Before the pod enters the active queue, and again on every change of the pod. Anything but success keeps
        the pod out, without an attempt and without an event. Must be fast and must not do I/O."""
        raise NotImplementedError

    def less(self, first: QueuedPod, second: QueuedPod, /) -> bool:
        """The order of the active queue: whether *first* comes before *second*. Exactly one plugin of a profile,
        the same one in all profiles. `sort_key` is the faster form."""
        raise NotImplementedError

    def sort_key(self, pod_info: QueuedPod, /) -> Comparable:
        """The order of the active queue: smaller keys come first. Called when the pod enters the queue and once
        more when it reaches the head. While a pod waits its key may grow, but not shrink."""
        raise NotImplementedError

    # --- scheduling cycle -------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable, /) -> PreFilterResult | Status | None:
        """Once per attempt; if the plugin sets `reads`, only for the first two pods that are equivalent.

        Compute what depends on the pod alone and `state.write` it. SKIP leaves out this plugin's Filter. A
        `PreFilterResult` restricts the nodes to evaluate. UNSCHEDULABLE_AND_UNRESOLVABLE ends the attempt at once,
        UNSCHEDULABLE after the remaining PreFilters; both reject every node.
        """
        raise NotImplementedError

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node: NodeInfo, /) -> Status | None:
        """In a what-if (preemption, nominated pods), after *pod_to_add* was added to *node*: update what
        `pre_filter` wrote to *state*. Define `add_pod` and `remove_pod`, or neither."""
        raise NotImplementedError

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node: NodeInfo, /) -> Status | None:
        """Like `add_pod`, after *pod_to_remove* was removed from *node*."""
        raise NotImplementedError

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo, /) -> Status | None:
        """Whether the pod can run on one node.

        The plugins of a profile are called in order; the first that rejects a node decides its reason, and later
        per-node filters are not called for it. UNSCHEDULABLE means that evicting pods may help. An ERROR on any
        node ends the attempt.
        """
        raise NotImplementedError

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable, /) -> Verdict | Status:
        """`filter` for all nodes at once: `nodes.accept_all()`, or `nodes.reject(where, reason)`."""
        raise NotImplementedError

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis, /) -> PostFilterResult | Status | None:
        """Only when no node is left. Success with a nominated node (preemption) ends the search; UNSCHEDULABLE
        lets the next plugin try and adds the reason to the pod's message."""
        raise NotImplementedError

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable, /) -> Status | None:
        """Like `pre_filter`, with the nodes that passed (at least two). SKIP leaves out this plugin's Score."""
        raise NotImplementedError

    def score(self, state: CycleState, pod: Pod, node: NodeInfo, /) -> int | Status:
        """How good one node is for the pod: higher is better. After `normalize_score` every score must be in
        0..100, otherwise the attempt fails with an error that names the plugin."""
        raise NotImplementedError

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable, /) -> ScoreArray | ClassScores | Status:
        """`score` for all nodes at once: an int64 array of shape (n_nodes,). Where many nodes have the same score,
        a `ClassScores` may be returned instead."""
        raise NotImplementedError

    def normalize_score(
        self, state: CycleState, pod: Pod, scores: ScoreArray, nodes: NodeTable, /
    ) -> ScoreArray | Status | None:
        """Brings the plugin's own scores into 0..100. Return a new array, or change the given one in place and
        return None. The scheduler then multiplies by the configured weight."""
        raise NotImplementedError

    def reserve(self, state: CycleState, pod: Pod, node_name: str, /) -> Status | None:
        """After the choice, before anything is sent. If any plugin's reserve fails, or anything later fails, the
        `unreserve` of all plugins is called."""
        raise NotImplementedError

    def unreserve(self, state: CycleState, pod: Pod, node_name: str, /) -> None:
        """Takes back what `reserve` did; in reverse order of the plugins. It must work without an earlier call of
        `reserve`, and must not fail."""
        raise NotImplementedError

    def permit(self, state: CycleState, pod: Pod, node_name: str, /) -> Status | None:
        """The last decision: success, a rejection, or `Status.wait(timeout_seconds=…)` to let the pod wait until
        `handle.waiting_pods` allows or rejects it."""
        raise NotImplementedError

    def waits_with(self, pod: Pod, other: Pod, /) -> bool:
        """Optional, together with `permit`, for plugins that let pods run only as a group: whether *other* can run
        only together with *pod*.

        Called after *pod* was rejected at Permit or could not be bound, for each pod found unschedulable in the
        meantime. Such a pod is retried, because a node has room again, unless this returns True: the room was
        meant for its own group. Without the method all of them are retried.
        """
        raise NotImplementedError

    def waits_for(self, pod: Pod, /) -> Sequence[Pod]:
        """Optional, together with `permit`, for the same plugins: the pods without a node that *pod*, if it had a
        node now, would wait for at Permit.

        A preemption policy calls it (`handle.evaluation.waits_for`) so as not to evict waiting pods in favour of a
        pod that would then wait itself. Without the method there are none.
        """
        raise NotImplementedError

    # --- binding cycle ----------------------------------------------------------------------------

    def pre_bind_pre_flight(
        self, state: CycleState, pod: Pod, node_name: str, /
    ) -> PreBindPreFlight | Status | None:
        """Optional, together with `pre_bind`: SKIP if that has nothing to do for the pod. Plain `def`."""
        raise NotImplementedError

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str, /) -> Status | None:
        """Prepare the node for the pod. Anything but success unreserves and requeues the pod."""
        raise NotImplementedError

    async def bind(self, state: CycleState, pod: Pod, node_name: str, /) -> Status | None:
        """The first plugin that does not SKIP binds the pod."""
        raise NotImplementedError

    async def post_bind(self, state: CycleState, pod: Pod, node_name: str, /) -> None:
        """Informational: the pod is bound."""
        raise NotImplementedError

    # --- other methods ----------------------------------------------------------------------------

    def sign(self, pod: Pod, /) -> Hashable | None:
        """The pod's signature: all that this plugin's Filter and Score read of the pod. For pods with equal
        signatures and an unchanged node the results must be equal, so they are cached; see `Reads`. None: do not
        cache."""
        raise NotImplementedError

    def carry_over(self, old: Any, /) -> None:
        """When a saved file replaces the plugin in a running scheduler (`--reload`): called once on the new
        instance, after its constructor and before any other method. *old* is the previous instance.

        Take over state that cannot be obtained otherwise, as the same objects and not as copies: pods that are
        past Reserve finish with *old*. Callbacks of `handle.informers.on_change` are called again for all objects,
        so what they collect need not be taken over. Without this method the new instance starts empty. If it
        raises, *old* is kept.
        """
        raise NotImplementedError

    def close(self) -> Awaitable[None] | None:
        """Plain or `async`: called once, when the scheduler ends, or when a reload has replaced the instance and
        no pod is on its way with it any more. Give back what the constructor has opened.

        The work of `handle.spawn` has been cancelled by then. An error is logged; a coroutine is cancelled after
        five seconds.
        """
        raise NotImplementedError


def defines(plugin: Plugin | type[Plugin], method: str) -> bool:
    """Whether *plugin* has a *method* of its own: the base class only declares them."""
    found = getattr(plugin, method, None)
    return found is not None and getattr(found, "__func__", found) is not getattr(Plugin, method, None)


def args_parameter(cls: type[Plugin]) -> Any:
    """What is in the brackets of `class X(Plugin[…])`; None if there are none, or if they leave it open."""
    bases = [base for base in vars(cls).get("__orig_bases__", ()) if _is_plugin(get_origin(base))]
    parameters = [parameter for base in bases for parameter in get_args(base)[:1]]
    return next((each for each in parameters if each is not Any and not isinstance(each, TypeVar)), None)


def _is_plugin(cls: Any) -> bool:
    return isinstance(cls, type) and issubclass(cls, Plugin)


def scores_alone(method: Method) -> Method:
    """Marks a `normalize_score` whose result depends on nothing but the scores, and treats all of them in the same
    way: if all nodes have the same score, it is not called again for other selections of the nodes."""
    setattr(method, _SCORES_ALONE, True)
    return method


def looks_at_scores_alone(method: Callable[..., Any]) -> bool:
    """Whether *method* is marked with `scores_alone`."""
    return getattr(method, _SCORES_ALONE, False) is True


def registered_events(plugin: Plugin) -> Sequence[ClusterEvent] | None:
    """The plugin's events, from its attribute or its method; None if it registers none."""
    declared = plugin.events_to_register
    return declared() if callable(declared) else declared
