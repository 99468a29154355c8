"""The composition root: builds the stations of a scheduler and connects them. No logic of its own.

registry = default_registry()
scheduler = Scheduler(load(text, source="scheduler.yaml", catalogue=registry), registry)
scheduler.cache.set_node(node)
scheduler.profile("default-scheduler").cycle.schedule(pod)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bayplan import config
from bayplan.cache import Cache
from bayplan.cache.objects import Objects
from bayplan.clock import SystemClock
from bayplan.config import Loaded
from bayplan.cycle import ProfileHandle, SchedulingCycle
from bayplan.cycle.evaluation import ProfileEvaluation
from bayplan.cycle.kept import KeptAnswers
from bayplan.framework import (
    BindingRunner,
    Clock,
    Observer,
    ProfilePlugins,
    Registry,
    Runner,
    construct_profile,
)
from bayplan.framework.registry import Absent
from bayplan.plugins import ALPHA, BUILTIN, DEFAULT_PLUGINS
from bayplan.queue import PodNominator


def default_registry(references: Iterable[str] = ()) -> Registry:
    """The plugins that ship with Bayplan, those of installed packages, and the ones named by *references*."""
    absent = {name: Absent(points, instead) for name, (points, instead) in ALPHA.items()}
    registry = Registry(BUILTIN, DEFAULT_PLUGINS, absent)
    registry.add_entry_points()
    for reference in references:
        registry.add_reference(reference)
    return registry


@dataclass(slots=True, frozen=True)
class Profile:
    """A configured profile at work."""

    name: str
    plugins: ProfilePlugins
    runner: Runner
    binding: BindingRunner
    evaluation: ProfileEvaluation
    cycle: SchedulingCycle
    handle: ProfileHandle


class Scheduler:
    """All stations, over one cache."""

    def __init__(
        self,
        loaded: Loaded,
        registry: Registry,
        *,
        clock: Clock | None = None,
        seed: int | None = None,
        observer: Callable[[str], Observer] | None = None,
    ) -> None:
        """*observer* gives the one who is told about the plugins of a profile, by the profile's name."""
        self.config = loaded.config
        self.cache = Cache()
        self.objects = Objects()
        self.nominator = PodNominator()
        self.clock: Clock = clock if clock is not None else SystemClock()
        self._registry = registry
        self._seed = seed
        self._observer = observer
        self.profiles = {profile.scheduler_name: self._build(profile) for profile in loaded.profiles}

    def profile(self, scheduler_name: str) -> Profile | None:
        """The profile that schedules pods with this `schedulerName`; None if they are somebody else's."""
        return self.profiles.get(scheduler_name)

    def _build(self, profile: config.Profile) -> Profile:
        snapshot = self.cache.snapshot()
        handle = ProfileHandle(
            profile.scheduler_name,
            clock=self.clock,
            snapshot=snapshot,
            informers=self.objects,
            nominator=self.nominator,
        )
        observer = self._observer(profile.scheduler_name) if self._observer is not None else None
        plugins = construct_profile(profile, self._registry, handle, observer)
        runner = Runner(
            plugins,
            answers=lambda caller: KeptAnswers(caller, snapshot),
            epoch=lambda: self.objects.generation,
        )
        evaluation = ProfileEvaluation(runner, snapshot, self.nominator)
        handle.evaluation = evaluation
        percentage = profile.percentage_of_nodes_to_score
        cycle = SchedulingCycle(
            runner,
            evaluation,
            snapshot,
            profile_name=profile.scheduler_name,
            percentage_of_nodes_to_score=(
                percentage if percentage is not None else self.config.percentage_of_nodes_to_score
            ),
            seed=self._seed,
        )
        return Profile(profile.scheduler_name, plugins, runner, BindingRunner(plugins), evaluation, cycle, handle)
