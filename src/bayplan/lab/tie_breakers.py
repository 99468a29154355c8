"""Which of equally good nodes a simulated scheduler takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayplan.core.feasible_nodes import TieBreaker
    from bayplan.framework import NodeTable
    from bayplan.framework.evaluator import Positions
    from bayplan.model import Pod

Ties: TypeAlias = Literal["random", "name", "first"]


def by_name(pod: Pod, nodes: NodeTable, best: Positions) -> int:
    """The node with the smallest name."""
    names = nodes.names
    return min((int(position) for position in best), key=lambda position: str(names[position]))


def by_position(pod: Pod, nodes: NodeTable, best: Positions) -> int:
    """The node that came first."""
    return min(int(position) for position in best)


#: None: at random, as kube-scheduler does, from the seed.
TIE_BREAKERS: Final[Mapping[str, TieBreaker | None]] = {"random": None, "name": by_name, "first": by_position}
