"""Extenders: services outside the process that take part in a cycle, as the cycle sees them.

The cycle asks them after its own plugins, in the configured order; `bayplan.extender` speaks to them. An answer is
what the extender said, not yet what follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from bayplan.model import Node, Pod

if TYPE_CHECKING:
    from bayplan.framework.candidates import Candidate
    from bayplan.framework.nodes import NodeTable

#: Stands among a pod's rejectors for extenders, which register nothing: any event may change their mind.
EXTENDER: Final = "Extender"
#: upstream MaxExtenderPriority: extenders score from 0 to this, and nothing holds them to it.
MAX_EXTENDER_SCORE: Final = 10


class ExtenderError(Exception):
    """An extender said no as a whole, said nothing, or said nonsense. The text goes into the pod's message."""


class Filtered(NamedTuple):
    """What an extender's `filter` left of the nodes. Nodes that it leaves out without a word have no reason."""

    #: The nodes left, by name; None if the extender gave nodes back whole instead.
    names: tuple[str, ...] | None = None
    #: The nodes left, as the extender sent them.
    nodes: tuple[Node, ...] = ()
    #: Node → why not.
    failed: Mapping[str, str] = {}
    #: Node → why not, and why evicting pods would not help.
    unresolvable: Mapping[str, str] = {}


class Claim(NamedTuple):
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
        """Whether its failures are passed over."""

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
        """What its scores are multiplied by."""

    def is_interested(self, pod: Pod) -> bool:
        """Whether *pod* asks for a resource that the extender manages; True if it manages none."""

    async def filter(self, pod: Pod, nodes: NodeTable) -> Filtered: ...

    async def prioritize(self, pod: Pod, nodes: NodeTable) -> Sequence[tuple[str, int]]:
        """(node, score), as often as the extender names one."""

    async def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, Claim]: ...

    async def bind(self, pod: Pod, node_name: str) -> None: ...
