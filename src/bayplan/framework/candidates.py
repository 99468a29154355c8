"""Candidates of preemption: the result of a dry run on a node, their ranking, and when enough are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from bayplan.framework.state import CycleState
from bayplan.framework.status import SUCCESS, Status
from bayplan.model import Pod, PodDisruptionBudget, earliest_start_time

#: Added to every priority, so that the sum over more victims is never smaller (upstream MaxInt32+1).
PRIORITY_SHIFT: Final = 2**31
#: The minimum number of dry runs at once: fewer are hardly cheaper.
_MIN_CHUNK: Final = 32

#: Lower is better: 1. the fewest violated budgets, 2. the lowest highest priority, 3. the lowest sum of
#: priorities, 4. the fewest victims. Where these are equal, the latest start of the most important victims wins.
Rank: TypeAlias = tuple[int, int, int, int]

#: Key of `ExtenderCandidates` in the cycle state, while a PostFilter plugin is called the second time.
EXTENDER_CANDIDATES: Final = "bayplan/extender-candidates"

NO_VICTIMS: Final = Status.unresolvable("No preemption victims found for incoming pod")


def none_needed(node_name: str) -> Status:
    """The pod fits without any eviction, so something other than the filters rejected the node."""
    return Status.failed(f'expected at least one victim pod on node "{node_name}"')


class VictimRules(NamedTuple):
    """How victims are chosen, where releases of Kubernetes differ."""

    #: The eviction of a pod takes nothing from the budgets after the first that it violates.
    first_violated_budget_only: bool = False
    #: See `sort_by_importance`.
    keeps_first_unstarted: bool = False


DEFAULT_RULES: Final = VictimRules()


class DryRun(NamedTuple):
    """The arguments of a dry run, apart from the node."""

    state: CycleState
    pod: Pod
    budgets: Sequence[PodDisruptionBudget]
    now: datetime
    rules: VictimRules = DEFAULT_RULES


class Victims(NamedTuple):
    """The pods to evict from one node, the most important first."""

    pods: tuple[Pod, ...]
    #: How many of them are protected by a PodDisruptionBudget.
    n_violations: int = 0


class Candidate(NamedTuple):
    """A node that the pod would fit without the victims."""

    node_name: str
    victims: Victims
    rank: Rank
    #: When the most important victims started, in seconds since the epoch; None if they have not started, which
    #: counts as the time at which candidates are compared.
    start: float | None


class ExtenderCandidates(NamedTuple):
    """The candidates that the extenders left, or the ERROR with which one of them ended the search."""

    candidates: Sequence[Candidate]
    status: Status = SUCCESS


class PreemptionReport(NamedTuple):
    """The candidates and rejected nodes of one preemption attempt, for the record."""

    candidates: Sequence[Candidate]
    #: Node → why evicting pods there does not help.
    refused: dict[str, Status]
    #: The time of the attempt, in seconds since the epoch.
    now: float

    @property
    def best(self) -> list[Candidate]:
        """The candidates with the best rank, in the order in which they were found."""
        candidates, now = self.candidates, self.now
        lowest = min([each.rank for each in candidates])
        tied = [each for each in candidates if each.rank == lowest]
        starts = [now if each.start is None else each.start for each in tied]
        latest = max(starts)
        return [each for each, start in zip(tied, starts, strict=True) if start == latest]


def candidate_of(node_name: str, victims: Victims, now: datetime) -> Candidate:
    """The candidate with these victims, at least one."""
    pods = victims.pods
    rank = (
        victims.n_violations,
        pods[0].priority,
        sum(pod.priority + PRIORITY_SHIFT for pod in pods),
        len(pods),
    )
    earliest = earliest_start_time(pods, now)
    return Candidate(node_name, victims, rank, None if earliest in (None, now) else earliest.timestamp())


class CandidateList:
    """The candidates found so far, and whether more are needed."""

    def __init__(self, n_wanted: int) -> None:
        self._n_wanted = n_wanted
        self._not_violating: list[Candidate] = []
        self._violating: list[Candidate] = []
        self.refused: dict[str, Status] = {}

    @property
    def candidates(self) -> list[Candidate]:
        """Candidates without a violated budget come first."""
        return self._not_violating + self._violating

    def note(self, found: Iterable[tuple[str, Candidate | Status]]) -> None:
        """Add results (node name, candidate or why there is none), until there are enough candidates."""
        n_missing = self._n_missing
        for node_name, each in found:
            if isinstance(each, Status):
                self.refused[node_name] = each
                continue
            (self._violating if each.rank[0] else self._not_violating).append(each)
            n_missing -= 1
            if n_missing <= 0 and self._not_violating:
                return

    @property
    def is_complete(self) -> bool:
        """Whether there are enough candidates, and one of them violates no budget."""
        return bool(self._not_violating) and self._n_missing <= 0

    @property
    def _n_missing(self) -> int:
        return self._n_wanted - len(self._not_violating) - len(self._violating)

    @property
    def n_next(self) -> int:
        """How many nodes to try next; trying several at once is cheap."""
        missing = self._n_missing if self._not_violating else self._n_wanted
        return max(missing, _MIN_CHUNK)
