"""Explanation: the answer about one pod, as data; and `PendingReport`, about everything that waits.

This is the JSON of `bayplan explain -o json` and `bayplan pending -o json`. Its schema is published in
`docs/explain.schema.json`; a field is only ever added within a version.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

API_VERSION: Final = "explain.bayplan.dev/v1alpha1"


class Explained(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True, frozen=True):
    """The base of all parts: fields in camel case, left out where they say nothing.

    What has a default factory (apiVersion, kind) is always there.
    """


class PodReference(Explained, frozen=True, kw_only=True):
    namespace: str
    name: str
    uid: str = ""


class NotSeen(Explained, frozen=True, kw_only=True):
    """A kind of object that could not be read, and what follows."""

    resource: str
    reason: str
    consequence: str = ""


class AnswerSource(Explained, frozen=True, kw_only=True):
    """Where the answer comes from."""

    #: scheduler, cluster, snapshot, workload.
    kind: str
    description: str
    n_nodes: int = 0
    n_pods: int = 0
    not_seen: tuple[NotSeen, ...] = ()

    @property
    def lacks_nodes(self) -> bool:
        """Whether nothing can be said about nodes, because they could not be read."""
        return not self.n_nodes and any(each.resource == "nodes" for each in self.not_seen)


class PodOutcome(Explained, frozen=True, kw_only=True):
    #: Bound, Schedulable, Unschedulable, Gated, Preempting, Waiting, Error, Terminating, Ended, OtherScheduler.
    state: str
    #: The outcome in one sentence.
    summary: str
    node: str = ""
    #: The message that kube-scheduler writes to the pod's condition.
    message: str = ""


class NodeGroup(Explained, frozen=True, kw_only=True):
    """Nodes that reject the pod for the same reasons."""

    #: The plugin that rejects them first; empty if it is not known.
    plugin: str
    reasons: tuple[str, ...]
    count: int
    nodes: tuple[str, ...] = ()
    #: Whether evicting pods there could help.
    resolvable: bool = False


class NodeSummary(Explained, frozen=True, kw_only=True):
    total: int
    feasible: int
    feasible_nodes: tuple[str, ...] = ()
    groups: tuple[NodeGroup, ...] = ()


class PluginVerdict(Explained, frozen=True, kw_only=True):
    """One plugin's word about one node."""

    plugin: str
    #: PreFilter, Filter, Extender.
    point: str
    #: Passed, Rejected, Skipped; NotAsked of an attempt in which another plugin rejected the node before.
    status: str
    reasons: tuple[str, ...] = ()


class PluginScore(Explained, frozen=True, kw_only=True):
    plugin: str
    raw: int
    normalized: int
    weight: int
    weighted: int


class ScoredNode(Explained, frozen=True, kw_only=True):
    node: str
    total: int
    scores: tuple[PluginScore, ...] = ()


class NodeDetail(Explained, frozen=True, kw_only=True):
    """Every plugin's verdict and score on one node."""

    name: str
    feasible: bool
    verdicts: tuple[PluginVerdict, ...] = ()
    total: int | None = None
    #: 1 is the best; None if the node is not feasible.
    rank: int | None = None
    scores: tuple[PluginScore, ...] = ()


class ScoreDifference(Explained, frozen=True, kw_only=True):
    plugin: str
    difference: int


class NextBest(Explained, frozen=True, kw_only=True):
    node: str
    total: int
    #: How much less than the chosen node; 0 is a tie, which chance decides.
    by: int
    differences: tuple[ScoreDifference, ...] = ()


class Placement(Explained, frozen=True, kw_only=True):
    """Why a pod is, or would be, on its node."""

    node: str
    n_feasible: int
    total: int | None = None
    #: How many feasible nodes have the highest total.
    n_best: int = 1
    scores: tuple[PluginScore, ...] = ()
    next_best: NextBest | None = None
    ranking: tuple[ScoredNode, ...] = ()


class WakingEvents(Explained, frozen=True, kw_only=True):
    """The events that make the scheduler try the pod again, because this plugin rejected it."""

    plugin: str
    events: tuple[str, ...]


class QueueState(Explained, frozen=True, kw_only=True):
    #: active, backoff, unschedulable, gated, inFlight, permit; empty if the scheduler was not asked.
    queue: str = ""
    since: str | None = None
    attempts: int | None = None
    next_try: str | None = None
    message: str = ""
    wakes: tuple[WakingEvents, ...] = ()


class PastAttempt(Explained, frozen=True, kw_only=True):
    """One attempt to schedule the pod, as a running scheduler has recorded it."""

    at: str
    node: str = ""
    #: Why there was no node, or why the pod was not bound to it.
    message: str = ""


class CountedReason(Explained, frozen=True, kw_only=True):
    reason: str
    count: int


class VictimPod(Explained, frozen=True, kw_only=True):
    namespace: str
    name: str
    priority: int = 0


class PreemptionAnswer(Explained, frozen=True, kw_only=True):
    """Which pods would have to go, or why none can."""

    possible: bool
    summary: str
    node: str = ""
    victims: tuple[VictimPod, ...] = ()
    n_violations: int = 0
    refused: tuple[CountedReason, ...] = ()


class PreemptorPod(Explained, frozen=True, kw_only=True):
    """A pod of higher priority that took, or will take, the place of a preempted one."""

    namespace: str
    name: str
    priority: int = 0
    #: Whether it is on the node by now; before that it is nominated there.
    is_bound: bool = False


class PreemptedReport(Explained, frozen=True, kw_only=True):
    """The pod was chosen as a victim of preemption."""

    summary: str
    node: str
    #: Who took its place; several, if it cannot be told which of them.
    by: tuple[PreemptorPod, ...] = ()


class DeviceReport(Explained, frozen=True, kw_only=True):
    claim: str
    summary: str


class GangReport(Explained, frozen=True, kw_only=True):
    name: str
    summary: str
    min_member: int = 0
    n_members: int = 0
    n_bound: int = 0


class QuotaReport(Explained, frozen=True, kw_only=True):
    name: str
    summary: str


class VolumeReport(Explained, frozen=True, kw_only=True):
    claim: str
    summary: str


class ExtenderReport(Explained, frozen=True, kw_only=True):
    extender: str
    verb: str
    summary: str


class ChangedObject(Explained, frozen=True, kw_only=True):
    api_version: str
    kind: str
    name: str
    namespace: str = ""


class SuggestedChange(Explained, frozen=True, kw_only=True):
    """A change that can be applied as it stands."""

    #: patch (a JSON merge patch), replace (delete the object and create the manifest), delete, create.
    verb: str
    object: ChangedObject
    patch: dict[str, Any] | None = None
    manifest: dict[str, Any] | None = None
    #: Fields of the object that are left out of *manifest*, because nobody should read them here.
    omitted: tuple[str, ...] = ()


class Suggestion(Explained, frozen=True, kw_only=True):
    """What would help; verified by the scheduler's own filters."""

    summary: str
    #: A node that the pod fits then.
    node: str
    verified: bool
    changes: tuple[SuggestedChange, ...]
    #: pod, node, others, capacity, or several of them.
    asks: tuple[str, ...] = ()
    #: How many nodes the pod fits then.
    n_feasible: int = 1
    #: How many other nodes have the same obstacles, where a node is to be changed.
    n_alternatives: int = 0
    notes: tuple[str, ...] = ()


class Explanation(Explained, frozen=True, kw_only=True):
    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "Explanation")
    pod: PodReference
    profile: str
    source: AnswerSource
    outcome: PodOutcome
    nodes: NodeSummary | None = None
    node: NodeDetail | None = None
    placement: Placement | None = None
    queue: QueueState | None = None
    #: The latest first.
    attempts: tuple[PastAttempt, ...] = ()
    preemption: PreemptionAnswer | None = None
    preempted: PreemptedReport | None = None
    gang: GangReport | None = None
    quotas: tuple[QuotaReport, ...] = ()
    volumes: tuple[VolumeReport, ...] = ()
    devices: tuple[DeviceReport, ...] = ()
    extenders: tuple[ExtenderReport, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()


class PlannedNode(Explained, frozen=True, kw_only=True):
    node: str
    count: int


class WorkloadAnswer(Explained, frozen=True, kw_only=True):
    """Whether a workload of a manifest would fit."""

    object: ChangedObject
    replicas: int
    placed: int
    summary: str
    nodes: tuple[PlannedNode, ...] = ()
    #: Why the first replica that does not fit does not fit.
    first_failure: Explanation | None = None


class FitReport(Explained, frozen=True, kw_only=True):
    """The answer to `bayplan explain -f`."""

    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "FitReport")
    source: AnswerSource
    workloads: tuple[WorkloadAnswer, ...]


class PendingGroup(Explained, frozen=True, kw_only=True):
    """Pods that one change helps, or that wait for the same reason."""

    summary: str
    pods: tuple[PodReference, ...]
    #: How many of *pods* the suggestion places.
    n_placed: int = 0
    message: str = ""
    suggestion: Suggestion | None = None


class PendingReport(Explained, frozen=True, kw_only=True):
    """Everything that waits in a cluster, grouped by what would help most."""

    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "PendingReport")
    source: AnswerSource
    n_pending: int
    groups: tuple[PendingGroup, ...] = ()
    notes: tuple[str, ...] = ()


def published_schema() -> dict[str, Any]:
    """The JSON Schema of everything that the commands print."""
    (_, components) = msgspec.json.schema_components(
        (Explanation, FitReport, PendingReport), ref_template="#/$defs/{name}"
    )
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": API_VERSION,
        "anyOf": [{"$ref": f"#/$defs/{each}"} for each in ("Explanation", "FitReport", "PendingReport")],
        "$defs": components,
    }
    # As it is published: with lists for tuples.
    published: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))
    return published


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(published_schema()), indent=2).decode())
