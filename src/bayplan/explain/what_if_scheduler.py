"""WhatIfScheduler: decisions about a cluster, and about the same cluster with a few objects changed.

It owns its core: nobody else may schedule with it. Changes are made to the core and undone afterwards, so one core
serves any number of questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bayplan.core.messages import ObjectChanged
from bayplan.explain.assessment import Assessment, assess
from bayplan.framework import CycleState, Status
from bayplan.model import KubeObject, Node, Pod

if TYPE_CHECKING:
    from bayplan.core import Decision, Profile, SchedulerCore


class ObjectChange(NamedTuple):
    """An object before and after; None before is a creation, None after a deletion."""

    old: KubeObject | None
    new: KubeObject | None


class WhatIfScheduler:
    """See the module docstring."""

    def __init__(self, core: SchedulerCore, *, breathe: Callable[[], None] = lambda: None) -> None:
        """*breathe* is called every few milliseconds, for those who have something else to do in between."""
        self.core = core
        self.breathe = breathe

    @property
    def profiles(self) -> Mapping[str, Profile]:
        return self.core.profiles

    def profile(self, pod: Pod) -> Profile:
        return self.core.profiles[pod.spec.scheduler_name]

    def decide(self, pod: Pod) -> Decision:
        self.breathe()
        return self.core.decide(pod)

    def assess(self, pod: Pod) -> Assessment:
        """Every plugin's verdict about every node, also where an earlier plugin has rejected it."""
        self.breathe()
        return assess(self.profile(pod), self.core.cache.snapshot(), pod)

    def feasible_nodes(self, pod: Pod) -> list[str]:
        """The nodes that the pod may be bound to: none if it is gated, or a plugin failed."""
        self.breathe()
        profile = self.profile(pod)
        if profile.plugins.pre_enqueue(pod) is not None:
            return []
        nodes = candidates = self.core.cache.snapshot().nodes
        state = CycleState()
        outcome = profile.runner.pre_filter(state, pod, nodes)
        if not outcome.status.is_success or not len(nodes):
            return []
        if (names := outcome.result.node_names) is not None:
            rows = sorted(row for name in names if (row := nodes.position(name)) is not None)
            candidates = nodes.select(np.array(rows, dtype=np.int64))
        filtered = profile.evaluation.filter(state, pod, candidates)
        if filtered.error is not None:
            return []
        return [str(name) for name in candidates.names[filtered.feasible]]

    def fits(self, pod: Pod, node_name: str) -> Status:
        """Whether the pod fits one node, by the filters that PreFilter has not skipped."""
        profile, state = self.profile(pod), CycleState()
        outcome = profile.runner.pre_filter(state, pod, self.core.cache.snapshot().nodes)
        if not outcome.status.is_success:
            return outcome.status
        return profile.evaluation.filter_node(state, pod, node_name)

    @contextmanager
    def changed(self, changes: Sequence[ObjectChange]) -> Iterator[None]:
        """The cluster with *changes* made, until the end of the block."""
        done: list[ObjectChange] = []
        try:
            for change in changes:
                self.make(change)
                done.append(change)
            yield
        finally:
            for old, new in reversed(done):
                self.make(ObjectChange(new, old))

    def make(self, change: ObjectChange) -> None:
        """Make a change for good."""
        old, new = change
        if isinstance(old, Pod) and isinstance(new, Pod) and old.node_name and not new.node_name:
            # No cluster takes a pod off its node; only an undone what-if does.
            self.make(ObjectChange(old, None))
            old = None
        self.core.handle(ObjectChanged(old, new))
        for pod, is_there in ((old, False), (new, True)):
            if isinstance(pod, Pod) and not pod.node_name:
                (self.core.nominator.read if is_there else self.core.nominator.forget)(pod)

    @contextmanager
    def without(self, pod: Pod) -> Iterator[None]:
        """The cluster without *pod*, as it was when the pod was to be placed."""
        known = self.core.pods.get(pod.key)
        with self.changed([ObjectChange(known, None)] if known is not None else []):
            yield

    def node(self, name: str) -> Node | None:
        return self.core.cache.node(name)
