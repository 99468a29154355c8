"""Plugin: the contract. This is the file to read before writing one.

A plugin is a class with a `name` and one or more of the methods below. Defining a method puts the plugin on
that extension point as soon as a profile enables it (under `multiPoint`, or under the point itself)::

    from bayplan import Plugin, Status

    class CpuNodes(Plugin):
        "Only nodes labelled cpu=true."
        name = "sample"

        def filter(self, state, pod, node):
            if node.labels.get("cpu") != "true":
                return Status.unschedulable(f"Node: {node.name}")

The base class defines none of the methods: it documents them. `bayplan.framework.contract` checks a class when it
is loaded, and rejects a wrong signature or a misspelt name with a message that says what is wrong.

**Results.** None means success everywhere. A Status means what its code says. An exception means ERROR: this pod's
attempt ends and is retried after a backoff; other pods and the scheduler itself are not affected.

**Life of a pod**, and when each method is called:

Queue
    ``pre_enqueue(pod) -> Status | None``
        Before the pod enters the active queue, and again on every change of the pod. Anything but success keeps
        the pod out, without an attempt and without an event. Must be fast and must not do I/O.
    ``less(first, second) -> bool`` or ``sort_key(pod_info) -> comparable``
        The order of the active queue. Exactly one plugin of a profile, the same one in all profiles.
        `sort_key` is the faster form: it is called when the pod enters the queue and once more when it reaches the
        head, and smaller keys come first. While a pod waits its key may grow, but not shrink.
    ``events_to_register() -> Sequence[ClusterEvent]`` (or a class attribute)
        Which events could make a pod schedulable that this plugin rejected; see `framework.events`.
        Without it every event causes a retry of the pod.

Scheduling cycle: plain `def`, one pod at a time, over a snapshot that does not change meanwhile
    ``pre_filter(state, pod, nodes) -> PreFilterResult | Status | None``
        Once per attempt; if the plugin sets `reads`, only for the first two pods that are equivalent: see `Reads`.
        Compute what depends on the pod alone and `state.write` it. SKIP leaves out this plugin's Filter.
        A PreFilterResult restricts the nodes to evaluate. UNSCHEDULABLE_AND_UNRESOLVABLE ends the attempt at once,
        UNSCHEDULABLE after the remaining PreFilters; both reject every node.
    ``add_pod(state, pod, pod_to_add, node)``, ``remove_pod(state, pod, pod_to_remove, node)``
        Called during what-ifs (preemption, nominated pods) after the pod was added to or removed from *node*,
        to update what `pre_filter` wrote to *state*. Define both or neither.
    ``filter(state, pod, node) -> Status | None``, one node, or
    ``filter_nodes(state, pod, nodes) -> Verdict``, all nodes at once
        Whether the pod can run there. The plugins of a profile are called in order; the first that rejects a node
        decides its reason, and later per-node filters are not called for it. UNSCHEDULABLE means that evicting
        pods may help. An ERROR on any node ends the attempt.
    ``post_filter(state, pod, verdicts) -> PostFilterResult | Status | None``
        Only when no node is left. Success with a nominated node (preemption) ends the search; UNSCHEDULABLE
        lets the next plugin try and adds the reason to the pod's message.
    ``pre_score(state, pod, nodes) -> Status | None``
        Like `pre_filter`, with the nodes that passed (at least two). SKIP leaves out this plugin's Score.
    ``score(state, pod, node) -> int | Status``, one node, or
    ``score_nodes(state, pod, nodes) -> int64 array of shape (n_nodes,)``, all nodes at once
        Higher is better. After normalize_score every score must be in 0..100, otherwise the attempt
        fails with an error that names the plugin.
        Where many nodes have the same score, a `ClassScores` may be returned instead of the array.
    ``normalize_score(state, pod, scores, nodes) -> int64 array | None``
        Brings the plugin's own scores into 0..100. Return a new array, or change the given one in
        place and return None. The scheduler then multiplies by the configured weight.
    ``reserve(state, pod, node_name) -> Status | None``, ``unreserve(state, pod, node_name) -> None``
        After the choice, before anything is sent. If any plugin's reserve fails, or anything later fails, the
        unreserve of all plugins is called in reverse order: it must work without an earlier call of its reserve,
        and must not fail.
    ``permit(state, pod, node_name) -> Status | None``
        The last decision: success, a rejection, or `Status.wait(timeout_seconds=…)` to let the pod wait until
        `handle.waiting_pods` allows or rejects it.
    ``waits_with(pod, other) -> bool``
        Optional, together with `permit`, for plugins that let pods run only as a group: whether *other* can run
        only together with *pod*. Called after *pod* was rejected at Permit or could not be bound, for each pod
        found unschedulable in the meantime. Such a pod is retried, because a node has room again, unless this
        returns True: the room was meant for its own group. Without the method all of them are retried.
    ``waits_for(pod) -> Sequence[Pod]``
        Optional, together with `permit`, for the same plugins: the pods without a node that *pod*, if it had a
        node now, would wait for at Permit. A preemption policy calls it (`handle.evaluation.waits_for`) so as not
        to evict waiting pods in favour of a pod that would then wait itself. Without the method there are none.

Binding cycle: `async def`, many pods at the same time
    ``pre_bind_pre_flight(state, pod, node_name) -> PreBindPreFlight | Status | None`` (plain `def`)
        SKIP if this plugin's pre_bind has nothing to do for the pod.
    ``async pre_bind(state, pod, node_name) -> Status | None``
        Prepare the node for the pod. Anything but success unreserves and requeues the pod.
    ``async bind(state, pod, node_name) -> Status | None``
        The first plugin that does not SKIP binds the pod.
    ``async post_bind(state, pod, node_name) -> None``
        Informational.

Other methods
    ``sign(pod) -> hashable | None``
        The pod's signature: all that this plugin's Filter and Score read of the pod. For pods with equal
        signatures and an unchanged node the results must be equal, so they are cached; see `reads`. None: do not
        cache.
    ``carry_over(old) -> None``
        When a saved file replaces the plugin in a running scheduler (`--reload`): called once on the new instance,
        after its constructor and before any other method. *old* is the previous instance. Take over state that
        cannot be obtained otherwise, as the same objects and not as copies: pods that are past Reserve finish with
        *old*. Callbacks of `handle.informers.on_change` are called again for all objects, so what they collect
        need not be taken over. Without this method the new instance starts empty. If it raises, *old* is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeVar

from bayplan.framework.events import ClusterEvent
from bayplan.framework.status import Status
from bayplan.model import Pod

if TYPE_CHECKING:
    from bayplan.config.args import Args
    from bayplan.framework.handle import Handle

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


class Plugin:
    """Base class of all plugins. Subclass it, set `name`, and define methods listed in the module's docstring."""

    #: The name used in configurations, events and metrics. Required.
    name: ClassVar[str]

    #: The type of this plugin's `pluginConfig` args, a subclass of `bayplan.Args`; None if it takes none.
    Args: ClassVar[type[Args] | None] = None

    #: Extension points of earlier releases, as a configuration spells them: one that still enables the plugin
    #: there gets a warning, not an error.
    former_points: ClassVar[frozenset[str]] = frozenset()

    #: See `sign`. The default caches nothing, which is correct for every plugin.
    reads: ClassVar[Reads] = Reads.ANYTHING

    #: Attribute or method; see the module's docstring. With the default, any event causes a retry of the pod.
    events_to_register: Any = None

    def __init__(self, args: Any, handle: Handle) -> None:
        #: An instance of `Args`, defaults filled in; None if the plugin takes none.
        self.args = args
        self.handle = handle

    def __repr__(self) -> str:
        return f"<plugin {self.name}>"


class PreFilterResult(NamedTuple):
    """The names of the only nodes to evaluate, in any collection; None for all of them."""

    node_names: Collection[str] | None = None

    def merge(self, other: PreFilterResult) -> PreFilterResult:
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


def scores_alone(method: Method) -> Method:
    """Marks a `normalize_score` whose result depends on nothing but the scores, and treats all of them in the same
    way: if all nodes have the same score, it is not called again for other selections of the nodes."""
    setattr(method, _SCORES_ALONE, True)
    return method


def looks_at_scores_alone(method: Callable[..., Any]) -> bool:
    return getattr(method, _SCORES_ALONE, False) is True


def registered_events(plugin: Plugin) -> Sequence[ClusterEvent] | None:
    """The plugin's events, from its attribute or its method; None if it registers none."""
    declared = plugin.events_to_register
    events: Sequence[ClusterEvent] | None = declared() if callable(declared) else declared
    return events
