"""The composition root: builds the stations of a scheduler and connects them. No logic of its own.

registry = default_registry()
scheduler = Scheduler(load(text, source="scheduler.yaml", catalogue=registry), registry)
scheduler.cache.set_node(node)
scheduler.profile("default-scheduler").cycle.schedule(pod)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from bayplan import config
from bayplan.cache import Cache
from bayplan.cache.objects import Objects
from bayplan.clock import SystemClock
from bayplan.config import Loaded
from bayplan.cycle import ProfileHandle, SchedulingCycle
from bayplan.cycle.evaluation import ProfileEvaluation
from bayplan.cycle.extended import ExtendedCycle
from bayplan.cycle.kept import KeptAnswers
from bayplan.cycle.making import Making
from bayplan.extender import BreakerSettings, ExtenderObserver, make_extenders
from bayplan.framework import BindingRunner, Clock, Observer, PluginError, ProfilePlugins, Registry, Runner
from bayplan.framework.loads import LoadFeeds
from bayplan.framework.registry import Absent
from bayplan.plugins import ALPHA, BUILTIN, DEFAULT_PLUGINS, FAMILY
from bayplan.queue import PodNominator


def default_registry(references: Iterable[str] = ()) -> Registry:
    """The plugins that ship with Bayplan, those of installed packages, and the ones named by *references*."""
    absent = {name: Absent(points, instead) for name, (points, instead) in ALPHA.items()}
    registry = Registry(BUILTIN, DEFAULT_PLUGINS, absent, family=FAMILY)
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
        breaker: BreakerSettings | None = None,
        extender_observer: ExtenderObserver | None = None,
    ) -> None:
        """*observer* gives the one who is told about the plugins of a profile, by the profile's name."""
        self.config = loaded.config
        self.cache = Cache()
        self.objects = Objects()
        self.nominator = PodNominator()
        self.loads = LoadFeeds()
        self.clock: Clock = clock if clock is not None else SystemClock()
        self._seed = seed
        self._observer = observer
        self._makings: dict[str, Making] = {}
        self.extenders = make_extenders(loaded.config.extenders, breaker=breaker, observer=extender_observer)
        self.profiles = {profile.scheduler_name: self._build(profile, registry) for profile in loaded.profiles}

    def profile(self, scheduler_name: str) -> Profile | None:
        """The profile that schedules pods with this `schedulerName`; None if they are somebody else's."""
        return self.profiles.get(scheduler_name)

    def replace_plugins(self, loaded: Loaded, registry: Registry) -> None:
        """Between two cycles: the same profiles with the classes of *registry*, placed as *loaded* says.

        A plugin whose class is the same goes on as it is. PluginError, and nothing has changed, if one of the
        others cannot be made.
        """
        made = {}
        try:
            for profile in loaded.profiles:
                made[profile.scheduler_name] = self._makings[profile.scheduler_name].make(profile, registry)
        except PluginError:
            for making in self._makings.values():
                making.abandon()
            raise
        for profile in loaded.profiles:
            name = profile.scheduler_name
            self.profiles[name] = self._assemble(profile, made[name], self._makings[name])

    def _build(self, profile: config.Profile, registry: Registry) -> Profile:
        name = profile.scheduler_name
        handle = ProfileHandle(
            name,
            clock=self.clock,
            snapshot=self.cache.snapshot(),
            informers=self.objects,
            nominator=self.nominator,
            loads=self.loads,
            seed=self._seed,
        )
        observer = self._observer(name) if self._observer is not None else None
        making = self._makings[name] = Making(handle, self.objects, observer)
        return self._assemble(profile, making.make(profile, registry), making)

    def _assemble(self, profile: config.Profile, plugins: ProfilePlugins, making: Making) -> Profile:
        making.adopt(plugins)
        handle, snapshot = making.handle, making.handle.snapshot
        runner = Runner(
            plugins,
            answers=lambda caller: KeptAnswers(caller, snapshot),
            epoch=lambda: self.objects.generation,
        )
        evaluation = ProfileEvaluation(runner, snapshot, self.nominator)
        handle.evaluation = evaluation
        percentage = profile.percentage_of_nodes_to_score
        with_extenders = (
            partial(ExtendedCycle, extenders=self.extenders, forgetful=Runner(plugins), clock=self.clock)
            if self.extenders
            else SchedulingCycle
        )
        cycle = with_extenders(
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
