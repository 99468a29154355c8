"""Answers to questions of capacity, as data: what is printed, and what `-o json` and `-o yaml` give."""

from __future__ import annotations

import msgspec

from bayplan.explain.explanation import AnswerSource, ChangedObject, CountedReason, Explained, PodReference

API_VERSION = "explain.bayplan.dev/v1alpha1"


class PoolCapacity(Explained, frozen=True, kw_only=True):
    """How many of the pods went to a pool, and what stops one more there."""

    pool: str
    n_nodes: int
    fits: int
    #: Why its nodes take no further pod: the most frequent reason first.
    limits: tuple[CountedReason, ...] = ()


class CapacityReport(Explained, frozen=True, kw_only=True):
    """The answer to `bayplan capacity`."""

    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "CapacityReport")
    source: AnswerSource
    object: ChangedObject
    summary: str
    fits: int
    #: Whether counting ended at a limit, not because nothing fits any more.
    limited: bool = False
    #: The message that kube-scheduler would write to the first pod that does not fit.
    message: str = ""
    pools: tuple[PoolCapacity, ...] = ()


class MovedPod(Explained, frozen=True, kw_only=True):
    """A pod of a drained node: where it would go, or why it cannot."""

    pod: PodReference
    from_node: str
    to_node: str = ""
    message: str = ""
    #: Nothing makes it anew once it is evicted.
    unmanaged: bool = False


class BudgetInTheWay(Explained, frozen=True, kw_only=True):
    """A PodDisruptionBudget that allows fewer evictions at once than the drain needs."""

    namespace: str
    name: str
    #: How many of its pods are on the drained nodes, and how many may be evicted now.
    n_pods: int
    allowed: int
    message: str


class DrainPlan(Explained, frozen=True, kw_only=True):
    """The answer to `bayplan drain-plan`."""

    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "DrainPlan")
    source: AnswerSource
    nodes: tuple[str, ...]
    summary: str
    moves: tuple[MovedPod, ...] = ()
    #: Pods of DaemonSets and mirror pods, which a drain leaves alone.
    staying: tuple[PodReference, ...] = ()
    budgets: tuple[BudgetInTheWay, ...] = ()

    @property
    def stuck(self) -> list[MovedPod]:
        return [move for move in self.moves if not move.to_node]


class PoolSize(Explained, frozen=True, kw_only=True):
    """How many further nodes of a pool the workloads need."""

    pool: str
    #: The node that the further ones are like, and what one of them offers.
    like: str
    shape: dict[str, str]
    n_pods: int
    placed: int
    new_nodes: int
    #: Why even one more node does not help.
    message: str = ""


class SizeReport(Explained, frozen=True, kw_only=True):
    """The answer to `bayplan size`."""

    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "SizeReport")
    source: AnswerSource
    summary: str
    pools: tuple[PoolSize, ...] = ()
