"""Groups of phases with the same workload, mode and size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from bench.e2e.plan import Mode
from bench.e2e.record import Phase

Key = tuple[str, Mode, int]
Groups = Mapping[Key, Sequence[Phase]]

#: The order of workloads in the report; others follow.
_ORDER = (
    "basic",
    "mixed",
    "nodeaffinity",
    "prefspread",
    "spread",
    "prefaffinity",
    "antiaffinity",
    "defaultspread",
    "devices",
    "devices-full",
    "devices-first",
    "devices-counters",
)


def grouped(phases: Iterable[Phase]) -> Groups:
    """Successful phases, by workload, mode and size."""
    groups: dict[Key, list[Phase]] = defaultdict(list)
    for phase in phases:
        if not phase.failure:
            groups[phase.step.workload, phase.step.mode, phase.step.n_nodes].append(phase)
    return groups


def measured(groups: Groups) -> list[Key]:
    """All groups except the comparison of choices, in the order of the report: the largest clusters first."""
    keys = [key for key in groups if key[1] is not Mode.DECISIONS]
    return sorted(keys, key=lambda key: (-key[2], list(Mode).index(key[1]), _place(key[0]), key[0]))


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)
