"""Extenders in memory, and a cycle that asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from bayplan.core import Decision
from bayplan.core.schedule_one import ProfileScheduler
from bayplan.framework import Candidate, NodeTable
from bayplan.framework.extenders import Extender, ExtenderError, FilterResponse, VictimUids
from bayplan.model import Pod
from bayplan.shell.extender_driver import decide_with_extenders
from bayplan.testing import Harness

T = TypeVar("T")


@dataclass
class FakeExtender:
    """Implements `framework.extenders.Extender`; writes down what it was asked."""

    name: str = "http://fake"
    on_filter: Callable[[list[str]], FilterResponse | ExtenderError] | None = None
    on_prioritize: Callable[[list[str]], Sequence[tuple[str, int]] | ExtenderError] | None = None
    on_preempt: Callable[[dict[str, list[str]]], Mapping[str, VictimUids] | ExtenderError] | None = None
    on_bind: Callable[[str], ExtenderError | None] | None = None
    is_ignorable: bool = False
    weight: int = 1
    interested: bool = True
    #: (verb, what was asked about), in order.
    asked: list[tuple[str, object]] = field(default_factory=list)

    @property
    def is_filter(self) -> bool:
        return self.on_filter is not None

    @property
    def is_prioritizer(self) -> bool:
        return self.on_prioritize is not None

    @property
    def is_preemptor(self) -> bool:
        return self.on_preempt is not None

    @property
    def is_binder(self) -> bool:
        return self.on_bind is not None

    def is_interested(self, pod: Pod) -> bool:
        return self.interested

    async def filter(self, pod: Pod, nodes: NodeTable) -> FilterResponse:
        assert self.on_filter is not None
        names = [str(name) for name in nodes.names]
        self.asked.append(("filter", names))
        return _said(self.on_filter(names))

    async def prioritize(self, pod: Pod, nodes: NodeTable) -> Sequence[tuple[str, int]]:
        assert self.on_prioritize is not None
        names = [str(name) for name in nodes.names]
        self.asked.append(("prioritize", names))
        return _said(self.on_prioritize(names))

    async def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, VictimUids]:
        assert self.on_preempt is not None
        offered = {each.node_name: [victim.uid for victim in each.victims.pods] for each in candidates}
        self.asked.append(("preempt", offered))
        return _said(self.on_preempt(offered))

    async def bind(self, pod: Pod, node_name: str) -> None:
        assert self.on_bind is not None
        self.asked.append(("bind", node_name))
        if (error := self.on_bind(node_name)) is not None:
            raise error

    async def close(self) -> None: ...


def _said(answer: T | ExtenderError) -> T:
    if isinstance(answer, ExtenderError):
        raise answer
    return answer


def with_extenders(harness: Harness, extenders: Iterable[Extender]) -> ProfileScheduler:
    """The harness' profile, with *extenders*."""
    parts = replace(harness.core._parts, extenders=tuple(extenders))
    return ProfileScheduler(harness.profile(), parts, seed=0)


async def decide(harness: Harness, pod: Pod, *extenders: Extender) -> Decision:
    return await decide_with_extenders(with_extenders(harness, extenders), pod)
