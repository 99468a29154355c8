"""The harness: one scheduler over nodes and pods in memory, one cycle at a time."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from bayplan import config
from bayplan.framework import Plugin, Registry
from bayplan.model import KubeObject, Node, Pod
from bayplan.release import DEFAULT, Release, release_named
from bayplan.scheduler import default_registry, new_core
from bayplan.testing.harness_background import HarnessBackground
from bayplan.testing.object_changes import changes_of

if TYPE_CHECKING:
    from bayplan.core import Decision, Profile

_HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
_PROFILE = """\
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{names}]
"""


class Harness:
    """Schedules pods one by one; each one placed counts for the next.

    Time stands still but in `wait`, which also lets background work of plugins go on. What they have spawned in
    their constructors has run up to where it waits when the harness is made.

    *plugins*, classes or references such as `file.py:Class`, are added to the default plugins; with *only* they
    run alone. *configuration* is the text of a KubeSchedulerConfiguration to use instead. *release* is the release
    of Kubernetes to follow, such as "1.36".
    """

    def __init__(
        self,
        *,
        nodes: Iterable[Node] = (),
        pods: Iterable[Pod] = (),
        objects: Iterable[KubeObject | Mapping[str, Any]] = (),
        plugins: Iterable[type[Plugin] | str] = (),
        only: bool = False,
        configuration: str | None = None,
        release: str | Release = DEFAULT,
        seed: int = 0,
    ) -> None:
        registry, read = prepared(plugins, configuration, only=only, release=release)
        self._background = HarnessBackground()
        self.clock = self._background.clock
        self.core = new_core(
            read(registry), registry, clock=self.clock, seed=seed, background=self._background.tasks
        )
        # Plugins that are not closed by hand are closed when the harness is no longer used.
        self._forgotten = weakref.finalize(self, self._background.forget, self.core)
        self.add(*nodes, *objects, *pods)
        self.wait(0)

    # --- the cluster --------------------------------------------------------------------------------------

    def add(self, *objects: KubeObject | Mapping[str, Any]) -> None:
        """Nodes, pods that are on nodes, and any other objects; or a new version of one. A dictionary is an object
        of a custom resource, or of any kind that plugins watch by name."""
        for each in objects:
            self._change(each, is_there=True)

    def remove(self, *objects: KubeObject | Mapping[str, Any]) -> None:
        """Objects that were added."""
        for each in objects:
            self._change(each, is_there=False)

    def _change(self, value: KubeObject | Mapping[str, Any], *, is_there: bool) -> None:
        for change in changes_of(self.core.objects, value, is_there=is_there):
            self.core.handle(change)

    # --- background work ----------------------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Let *seconds* of the harness's own time go by, and background work of plugins (`handle.spawn`) go on."""
        self._background.run(seconds)

    @property
    def failures(self) -> Sequence[str]:
        """What background work has raised, and `close`: `Plugin work: ValueError: …`."""
        return self._background.failures

    @property
    def metrics(self) -> str:
        """The metrics of plugins (`handle.metrics`) as they would be scraped."""
        return self.core.plugin_metrics.registry.text().decode()

    def close(self) -> None:
        """End background work and close the plugins. The harness does so itself when it is no longer used."""
        if self._forgotten.detach() is not None:
            self._background.close(self.core)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # --- decisions ----------------------------------------------------------------------------------------

    def profile(self, name: str = "default-scheduler") -> Profile:
        profile = self.core.profiles.get(name)
        if profile is None:
            raise LookupError(f"no profile {name!r}; there are: {', '.join(self.core.profiles)}")
        return profile

    def decide(self, pod: Pod) -> Decision:
        """One scheduling cycle; nothing changes."""
        self.profile(pod.spec.scheduler_name)
        return self.core.decide(pod)

    def schedule(self, pod: Pod) -> Decision:
        """One scheduling cycle; a pod that found a node is on it from then on."""
        decision = self.decide(pod)
        if decision.node_name:
            self.core.cache.assume(pod, decision.node_name)
        return decision


def prepared(
    plugins: Iterable[type[Plugin] | str],
    configuration: str | None,
    *,
    only: bool,
    release: str | Release = DEFAULT,
) -> tuple[Registry, Callable[[Registry], config.Loaded]]:
    """A registry that knows *plugins*, and how to read the text *configuration* with one; without a text, one that
    adds *plugins* to the default ones is made up."""
    registry = default_registry(release=release_named(release) if isinstance(release, str) else release)
    registered = [
        registry.add_reference(each) if isinstance(each, str) else registry.add(each) for each in plugins
    ]
    text = configuration
    if text is None:
        text = _HEAD + _profile([each.plugin for each in registered], only=only)
    return registry, lambda known: config.load(text, source="configuration", catalogue=known)


def _profile(plugins: list[type[Plugin]], *, only: bool) -> str:
    if not plugins:
        return ""
    text = _PROFILE.format(names=", ".join(f'{{name: "{plugin.name}"}}' for plugin in plugins))
    if only:
        # A profile cannot do without a queue sort and a bind plugin.
        text = text.replace("enabled: [", "enabled: [{name: PrioritySort}, {name: DefaultBinder}, ")
        text += '      disabled: [{name: "*"}]\n'
    return text
