"""Extenders: HTTP services that take part in a scheduling cycle, as an interface for the cycle.

The cycle calls them after its plugins, in the configured order; `bayplan.extender` implements the calls. The types
here are the responses of extenders, before the cycle draws conclusions from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from bayplan.model import Node, Pod

if TYPE_CHECKING:
    from bayplan.framework.candidates import Candidate
    from bayplan.framework.nodes import NodeTable

#: Name of all extenders among the plugins that rejected a pod. They register no events: any event may help.
EXTENDER: Final = "Extender"
#: upstream MaxExtenderPriority: extenders score from 0 to this, which is not enforced.
MAX_EXTENDER_SCORE: Final = 10


class ExtenderError(Exception):
    """An extender returned an error, no response, or an invalid one. The text goes into the pod's message."""


class FilterResponse(NamedTuple):
    """The nodes that passed an extender's `filter`. A rejected node may also have no reason in `failed`."""

    #: The nodes that passed, by name; None if the extender returned whole nodes instead.
    names: tuple[str, ...] | None = None
    #: The nodes that passed, as the extender sent them.
    nodes: tuple[Node, ...] = ()
    #: Node → reason.
    failed: Mapping[str, str] = {}
    #: Node → reason, where evicting pods would not help.
    unresolvable: Mapping[str, str] = {}


class VictimUids(NamedTuple):
    """The pods that an extender would evict from a node."""

    uids: tuple[str, ...]
    n_violations: int = 0


class Extender(Protocol):
    """One configured extender. Its coroutines raise ExtenderError and nothing else."""

    @property
    def name(self) -> str:
        """Its URL."""

    @property
    def is_ignorable(self) -> bool:
        """Whether its failures are ignored."""

    @property
    def is_filter(self) -> bool: ...

    @property
    def is_prioritizer(self) -> bool: ...

    @property
    def is_preemptor(self) -> bool: ...

    @property
    def is_binder(self) -> bool: ...

    @property
    def weight(self) -> int:
        """The factor of its scores."""

    def is_interested(self, pod: Pod) -> bool:
        """Whether *pod* requests a resource that the extender manages; True if it manages none."""

    async def filter(self, pod: Pod, nodes: NodeTable) -> FilterResponse: ...

    async def prioritize(self, pod: Pod, nodes: NodeTable) -> Sequence[tuple[str, int]]:
        """(node, score) pairs, in the extender's order; a node may occur several times."""

    async def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, VictimUids]: ...

    async def bind(self, pod: Pod, node_name: str) -> None: ...

    async def close(self) -> None: ...
