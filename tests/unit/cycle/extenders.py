"""Extenders in memory, and a cycle that asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from bayplan.cycle import Decision
from bayplan.cycle.extended import ExtendedCycle
from bayplan.framework import Candidate, CycleState, NodeTable, Runner
from bayplan.framework.extenders import Claim, Extender, ExtenderError, Filtered
from bayplan.model import Pod
from bayplan.testing import Harness

T = TypeVar("T")


@dataclass
class FakeExtender:
    """Implements `framework.extenders.Extender`; writes down what it was asked."""

    name: str = "http://fake"
    on_filter: Callable[[list[str]], Filtered | ExtenderError] | None = None
    on_prioritize: Callable[[list[str]], Sequence[tuple[str, int]] | ExtenderError] | None = None
    on_preempt: Callable[[dict[str, list[str]]], Mapping[str, Claim] | ExtenderError] | None = None
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

    async def filter(self, pod: Pod, nodes: NodeTable) -> Filtered:
        assert self.on_filter is not None
        names = [str(name) for name in nodes.names]
        self.asked.append(("filter", names))
        return _said(self.on_filter(names))

    async def prioritize(self, pod: Pod, nodes: NodeTable) -> Sequence[tuple[str, int]]:
        assert self.on_prioritize is not None
        names = [str(name) for name in nodes.names]
        self.asked.append(("prioritize", names))
        return _said(self.on_prioritize(names))

    async def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, Claim]:
        assert self.on_preempt is not None
        offered = {each.node_name: [victim.uid for victim in each.victims.pods] for each in candidates}
        self.asked.append(("preempt", offered))
        return _said(self.on_preempt(offered))

    async def bind(self, pod: Pod, node_name: str) -> None:
        assert self.on_bind is not None
        self.asked.append(("bind", node_name))
        if (error := self.on_bind(node_name)) is not None:
            raise error


def _said(answer: T | ExtenderError) -> T:
    if isinstance(answer, ExtenderError):
        raise answer
    return answer


def extended_cycle(harness: Harness, extenders: Iterable[Extender]) -> ExtendedCycle:
    """The harness' profile, asked together with *extenders*."""
    profile, scheduler = harness.profile(), harness.scheduler
    return ExtendedCycle(
        profile.runner,
        profile.evaluation,
        scheduler.cache.snapshot(),
        profile_name=profile.name,
        seed=0,
        extenders=tuple(extenders),
        forgetful=Runner(profile.plugins),
        clock=scheduler.clock,
    )


async def decide(harness: Harness, pod: Pod, *extenders: Extender) -> Decision:
    return await extended_cycle(harness, extenders).schedule_awaiting(pod, CycleState())
