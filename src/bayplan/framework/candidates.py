"""Preemption's candidates: what a dry run on a node found, how candidates rank, and when enough are found."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

from bayplan.framework.state import CycleState
from bayplan.framework.status import SUCCESS, Status
from bayplan.model import Pod, PodDisruptionBudget, earliest_start_time

#: Added to every priority, so that a sum over more victims is never the smaller one (upstream MaxInt32+1).
PRIORITY_SHIFT: Final = 2**31
#: Dry runs at once at the least: fewer are hardly cheaper.
_MIN_CHUNK: Final = 32

#: Lower is better; equal ranks are equally good. In this order: 1. the fewest violated budgets, 2. the lowest
#: highest priority, 3. the lowest sum of priorities, 4. the fewest victims, 5. the latest start of the most
#: important ones.
Rank: TypeAlias = tuple[int, int, int, int, float]

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


class Consulted(NamedTuple):
    """What the extenders left of the candidates, or the ERROR that one of them ended the search with."""

    candidates: Sequence[Candidate]
    status: Status = SUCCESS


class Considered(NamedTuple):
    """What preemption looked at, for the record."""

    candidates: Sequence[Candidate]
    #: Node → why evicting pods there does not help.
    refused: dict[str, Status]


def rank_of(victims: Victims, now: datetime) -> Rank:
    pods = victims.pods
    earliest = earliest_start_time(pods, now)
    return (
        victims.n_violations,
        pods[0].priority,
        sum(pod.priority + PRIORITY_SHIFT for pod in pods),
        len(pods),
        -earliest.timestamp() if earliest is not None else 0.0,
    )


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

    def note(self, node_name: str, found: Candidate | Status) -> None:
        if isinstance(found, Status):
            self.refused[node_name] = found
        else:
            (self._violating if found.victims.n_violations else self._sparing).append(found)

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
