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

The base class defines none of the methods: it documents them, `bayplan.framework.contract` checks a class
against them when it is loaded, and a wrong signature or a misspelt name is refused with a message that says so.

**Returns.** None means success everywhere. A Status means what its code says. Raising means ERROR: this pod's
attempt ends and is tried again after a backoff; other pods are not affected, and neither is the scheduler.

**The way of a pod**, and when each method is called:

Queue
    ``pre_enqueue(pod) -> Status | None``
        Before the pod enters the active queue, again on every change of the pod. Anything but success keeps
        the pod out, without an attempt and without an event. Must be quick and must not do I/O.
    ``less(first, second) -> bool`` or ``sort_key(pod_info) -> comparable``
        Order of the active queue. Exactly one plugin of a profile, the same one in all profiles.
        `sort_key` is the faster form: it is asked when the pod enters the queue and once more when it comes up,
        and smaller keys go first. While a pod waits its key may grow, but not shrink.
    ``events_to_register() -> Sequence[ClusterEvent]`` (or a class attribute)
        Which events could make a pod schedulable that this plugin rejected; see `framework.events`.
        Without it every event tries the pod again.

Scheduling cycle: plain `def`, one pod at a time, over a snapshot that does not change meanwhile
    ``pre_filter(state, pod, nodes) -> PreFilterResult | Status | None``
        Once per attempt. Work out what depends on the pod alone and `state.write` it. SKIP leaves this
        plugin's Filter out. A PreFilterResult narrows the nodes to look at. UNSCHEDULABLE_AND_UNRESOLVABLE
        ends the attempt at once, UNSCHEDULABLE after the remaining PreFilters; both reject every node.
    ``add_pod(state, pod, pod_to_add, node)``, ``remove_pod(state, pod, pod_to_remove, node)``
        Asked during what-ifs (preemption, nominated pods) after the pod was added to or removed from *node*,
        so that what `pre_filter` wrote to *state* can follow. Define both or neither.
    ``filter(state, pod, node) -> Status | None``, one node, or
    ``filter_nodes(state, pod, nodes) -> Verdict``, all nodes at once
        May the pod run there? The plugins of a profile are asked in order; the first that rejects a node
        decides its reason, and later per-node filters are not asked about it. UNSCHEDULABLE says that evicting
        pods may help. An ERROR on any node ends the attempt.
    ``post_filter(state, pod, verdicts) -> PostFilterResult | Status | None``
        Only when no node is left. Success with a nominated node (preemption) ends the search; UNSCHEDULABLE
        lets the next plugin try and puts the reason into the pod's message.
    ``pre_score(state, pod, nodes) -> Status | None``
        Once, with the nodes that passed (at least two). SKIP leaves this plugin's Score out.
    ``score(state, pod, node) -> int | Status``, one node, or
    ``score_nodes(state, pod, nodes) -> int64 array of shape (n_nodes,)``, all nodes at once
        The higher the better. After normalize_score every score must lie in 0..100, otherwise the attempt
        fails with an error that names the plugin.
        Where many nodes have the same score, a `ClassScores` may be given in place of the array.
    ``normalize_score(state, pod, scores, nodes) -> int64 array | None``
        The plugin's own scores, to be brought into 0..100. Return a new array, or change the given one in
        place and return None. The scheduler then multiplies by the configured weight.
    ``reserve(state, pod, node_name) -> Status | None``, ``unreserve(state, pod, node_name) -> None``
        After the choice, before anything is sent. If any plugin's reserve fails, or anything later does, the
        unreserve of all plugins is called in reverse order: it must bear being called without its reserve,
        and must not fail.
    ``permit(state, pod, node_name) -> Status | None``
        The last word: success, a rejection, or `Status.wait(timeout_seconds=…)` to hold the pod until
        `handle.waiting_pods` allows or rejects it.
    ``waits_with(pod, other) -> bool``
        Whether *other* gets a place only together with *pod*. When *pod* was held in vain and gives its place
        back, pods that were tried meanwhile are tried again, but those that wait with it: it was there for them.
    ``waits_for(pod) -> Sequence[Pod]``
        Who has no place, and must get one before *pod* may go on, if *pod* had one now. Preemption takes nothing
        from pods that wait on behalf of one that would have to wait as well.

Binding cycle: `async def`, many pods at the same time
    ``pre_bind_pre_flight(state, pod, node_name) -> PreBindPreFlight | Status | None`` (plain `def`)
        SKIP if this plugin's pre_bind has nothing to do for the pod.
    ``async pre_bind(state, pod, node_name) -> Status | None``
        Prepare the node for the pod. Anything but success unreserves and queues the pod again.
    ``async bind(state, pod, node_name) -> Status | None``
        The first plugin that does not SKIP binds the pod.
    ``async post_bind(state, pod, node_name) -> None``
        Informational.

Besides
    ``sign(pod) -> hashable | None``
        What of the pod this plugin's Filter and Score look at. Pods with equal signs get equal answers on an
        unchanged node, so the answers are kept instead of worked out again; see `reads`. None: do not keep.
    ``carry_over(old) -> None``
        When a saved file replaces the plugin in a running scheduler (`--reload`): once, on the new instance, after
        its constructor and before it is asked anything. *old* is the instance of the class as it was. Take what
        cannot be had otherwise, and take the very objects, not copies: pods that are past Reserve finish with
        *old*. Callbacks of `handle.informers.on_change` are told about everything anew, so what comes from them
        need not be taken. Without this method the new instance begins empty. Raising keeps *old* at work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """What a plugin's Filter and Score look at, besides the pod: when a kept answer must be made anew."""

    #: The node object alone (labels, taints, allocatable, …).
    NODE = auto()
    #: Node objects, other nodes' as well (how many have an image, say).
    ALL_NODES = auto()
    #: The node object and the amounts that the pods on it request: `requested`, `nonzero_requested` and
    #: `pod_counts` of a table, and nothing else about the pods. Preemption then tries many nodes at once.
    RESOURCES = auto()
    #: The node and the pods on it.
    USAGE = auto()
    #: Anything else (other nodes, other objects, the clock, the plugin's own state): never keep an answer.
    ANYTHING = auto()


class Plugin:
    """Base class of all plugins. Subclass it, give it a `name`, define methods of the module's list."""

    #: The name used in configurations, events and metrics. Required.
    name: ClassVar[str]

    #: The type of this plugin's `pluginConfig` args, a subclass of `bayplan.Args`; None if it takes none.
    Args: ClassVar[type[Args] | None] = None

    #: Extension points of earlier releases, as a configuration spells them: one that still enables the plugin
    #: there gets a warning, not an error.
    former_points: ClassVar[frozenset[str]] = frozenset()

    #: See `sign`. The default keeps nothing, which is right for every plugin.
    reads: ClassVar[Reads] = Reads.ANYTHING

    #: Attribute or method; see the module's text. The default waits for nothing in particular: any event
    #: tries the pod again.
    events_to_register: Any = None

    def __init__(self, args: Any, handle: Handle) -> None:
        #: An instance of `Args`, defaults filled in; None if the plugin takes none.
        self.args = args
        self.handle = handle

    def __repr__(self) -> str:
        return f"<plugin {self.name}>"


class PreFilterResult(NamedTuple):
    """The only nodes worth looking at; None for all of them."""

    node_names: frozenset[str] | None = None

    def merge(self, other: PreFilterResult) -> PreFilterResult:
        if self.node_names is None:
            return other
        if other.node_names is None:
            return self
        return PreFilterResult(self.node_names & other.node_names)


class PostFilterResult(NamedTuple):
    """What PostFilter achieved."""

    #: Success with a node nominates it; an empty name on a rejection clears an earlier nomination;
    #: None leaves the nomination as it is.
    nominated_node_name: str | None
    status: Status
    #: Pods to be evicted from the nominated node before the pod can run there.
    victims: tuple[Pod, ...] = ()
    #: What was considered, for the record.
    detail: object | None = None


class PreBindPreFlight(NamedTuple):
    """Whether pre_bind may run at the same time as its neighbours in the order of plugins."""

    allow_parallel: bool = False


def scores_alone(method: Method) -> Method:
    """Marks a `normalize_score` that looks at nothing but the scores, and at each of them in the same way: where
    all nodes have the same score, it is not asked about every other selection of them."""
    setattr(method, _SCORES_ALONE, True)
    return method


def looks_at_scores_alone(method: Callable[..., Any]) -> bool:
    return getattr(method, _SCORES_ALONE, False) is True


def registered_events(plugin: Plugin) -> Sequence[ClusterEvent] | None:
    """The plugin's events, from its attribute or its method; None if it registers none."""
    declared = plugin.events_to_register
    events: Sequence[ClusterEvent] | None = declared() if callable(declared) else declared
    return events
