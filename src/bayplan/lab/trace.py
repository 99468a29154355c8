"""Trace: what came to a cluster and when. Nodes, pods and their ends, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from bayplan.model import KubeObject, Node, Pod


class TraceError(Exception):
    """A trace that cannot be used: what is wrong and where."""


@dataclass(frozen=True, slots=True)
class PodArrival:
    """A pod is created; if it names a node, it is there already."""

    #: Seconds since the trace began.
    time: float
    pod: Pod
    #: When it was deleted, if the trace has that.
    end: float | None = None
    #: How long it ran once it had its node, if the trace has that.
    duration: float | None = None


class ObjectArrival(NamedTuple):
    """A node or another object is created, or takes the place of the one of its name."""

    time: float
    object: KubeObject


class NodeDeparture(NamedTuple):
    """A node is deleted."""

    time: float
    name: str


TraceEntry: TypeAlias = "PodArrival | ObjectArrival | NodeDeparture"


@dataclass(frozen=True)
class Trace:
    """Entries in the order of their times; at one time, nodes and other objects come before pods."""

    entries: Sequence[TraceEntry]

    @classmethod
    def of(cls, entries: Iterable[TraceEntry]) -> Trace:
        return cls(sorted(entries, key=lambda each: (each.time, isinstance(each, PodArrival))))

    @property
    def pods(self) -> list[PodArrival]:
        return [each for each in self.entries if isinstance(each, PodArrival)]

    @property
    def nodes(self) -> list[Node]:
        """The nodes that it brings, each as it came first."""
        found: dict[str, Node] = {}
        for each in self.entries:
            if isinstance(each, ObjectArrival) and isinstance(each.object, Node):
                found.setdefault(each.object.name, each.object)
        return list(found.values())

    def with_pods(self, pods: Iterable[PodArrival]) -> Trace:
        """The same cluster with other pods."""
        return Trace.of([*(each for each in self.entries if not isinstance(each, PodArrival)), *pods])


def moved(arrival: PodArrival, time: float) -> PodArrival:
    """The same pod at another time; its end moves with it."""
    end = None if arrival.end is None else arrival.end + time - arrival.time
    return replace(arrival, time=time, end=end)
