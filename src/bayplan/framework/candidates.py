"""Preemption's candidates: what a dry run on a node found, how candidates rank, and when enough are found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from bayplan.framework.state import CycleState
from bayplan.framework.status import SUCCESS, Status
from bayplan.model import Pod, PodDisruptionBudget, earliest_start_time

#: Added to every priority, so that a sum over more victims is never the smaller one (upstream MaxInt32+1).
PRIORITY_SHIFT: Final = 2**31
#: Dry runs at once at the least: fewer are hardly cheaper.
_MIN_CHUNK: Final = 32

#: Lower is better: 1. the fewest violated budgets, 2. the lowest highest priority, 3. the lowest sum of
#: priorities, 4. the fewest victims. Where these are equal, the latest start of the most important victims wins.
Rank: TypeAlias = tuple[int, int, int, int]

#: Where the cycle state holds `Consulted`, while a PostFilter plugin is asked the second time.
CONSULTED: Final = "bayplan/consulted"

NO_VICTIMS: Final = Status.unresolvable("No preemption victims found for incoming pod")


def none_needed(node_name: str) -> Status:
    """The pod fits with every pod left in place: then something else than the filters turned the node down."""
    return Status.failed(f'expected at least one victim pod on node "{node_name}"')


class DryRun(NamedTuple):
    """What a dry run is given, the node apart."""

    state: CycleState
    pod: Pod
    budgets: Sequence[PodDisruptionBudget]
    now: datetime


class Victims(NamedTuple):
    """The pods to evict from one node, the most important first."""

    pods: tuple[Pod, ...]
    #: How many of them their PodDisruptionBudgets would have spared.
    n_violations: int = 0


class Candidate(NamedTuple):
    """A node on which the pod would fit without the victims."""

    node_name: str
    victims: Victims
    rank: Rank
    #: When the most important victims started, in seconds since the epoch; None if they have not, which counts as
    #: the moment at which candidates are compared.
    start: float | None


class Consulted(NamedTuple):
    """What the extenders left of the candidates, or the ERROR that one of them ended the search with."""

    candidates: Sequence[Candidate]
    status: Status = SUCCESS


class Considered(NamedTuple):
    """What preemption looked at, for the record."""

    candidates: Sequence[Candidate]
    #: Node → why evicting pods there does not help.
    refused: dict[str, Status]
    #: When that was, in seconds since the epoch.
    now: float

    @property
    def best(self) -> list[Candidate]:
        """The candidates that rank first, equally good, in the order in which they were found."""
        candidates, now = self.candidates, self.now
        lowest = min([each.rank for each in candidates])
        tied = [each for each in candidates if each.rank == lowest]
        starts = [now if each.start is None else each.start for each in tied]
        latest = max(starts)
        return [each for each, start in zip(tied, starts, strict=True) if start == latest]


def candidate_of(node_name: str, victims: Victims, now: datetime) -> Candidate:
    """The candidate with these victims, of which there is at least one."""
    pods = victims.pods
    rank = (
        victims.n_violations,
        pods[0].priority,
        sum(pod.priority + PRIORITY_SHIFT for pod in pods),
        len(pods),
    )
    earliest = earliest_start_time(pods, now)
    return Candidate(node_name, victims, rank, None if earliest in (None, now) else earliest.timestamp())


class Search:
    """The candidates found so far, and whether to go on looking."""

    def __init__(self, n_wanted: int) -> None:
        self._n_wanted = n_wanted
        self._sparing: list[Candidate] = []
        self._violating: list[Candidate] = []
        self.refused: dict[str, Status] = {}

    @property
    def candidates(self) -> list[Candidate]:
        """Those that violate no budget first."""
        return self._sparing + self._violating

    def note(self, found: Iterable[tuple[str, Candidate | Status]]) -> None:
        """What was found at nodes, by name; no further than is needed."""
        n_missing = self._n_missing
        for node_name, each in found:
            if isinstance(each, Status):
                self.refused[node_name] = each
                continue
            (self._violating if each.rank[0] else self._sparing).append(each)
            n_missing -= 1
            if n_missing <= 0 and self._sparing:
                return

    @property
    def is_over(self) -> bool:
        """There are enough, and not all of them violate a budget."""
        return bool(self._sparing) and self._n_missing <= 0

    @property
    def _n_missing(self) -> int:
        return self._n_wanted - len(self._sparing) - len(self._violating)

    @property
    def n_next(self) -> int:
        """On how many nodes to look next, where looking at many at once is cheap."""
        missing = self._n_missing if self._sparing else self._n_wanted
        return max(missing, _MIN_CHUNK)
