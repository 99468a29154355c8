"""Plugins of a profile, made anew where their class changed; who hears of the cluster meanwhile."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from bayplan import config
from bayplan.core import SchedulerCore
from bayplan.framework import Action, ClusterEvent, Plugin, PluginError, Registry, Resource
from bayplan.model import Service
from bayplan.scheduler import default_registry, new_core
from bayplan.testing import make_node, make_pod

TEXT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: one
  plugins: {multiPoint: {enabled: [{name: Rule, weight: 100}]}}
- schedulerName: two
  plugins: {multiPoint: {enabled: [{name: Rule, weight: 100}]}}
"""
SERVICE = Service.from_dict({"metadata": {"name": "web", "namespace": "default"}})


class Rule(Plugin):
    name = "Rule"
    best = "a"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.heard: list[str] = []
        handle.informers.on_change(Service, lambda old, new: self.heard.append((new or old).name))

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 100 if node.name == self.best else 0


class Changed(Rule):
    """What Rule is after a save."""

    best = "b"


class FailsInTheSecond(Changed):
    made: ClassVar[list[Any]] = []

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.made.append(self)
        if handle.profile_name == "two":
            raise ValueError("not here")


def registry_with(rule: type[Plugin]) -> Registry:
    registry = default_registry()
    registry.add(rule)
    return registry


def load(registry: Registry) -> config.Loaded:
    return config.load(TEXT, source="configuration", catalogue=registry)


@pytest.fixture
def scheduler() -> SchedulerCore:
    registry = registry_with(Rule)
    made = new_core(load(registry), registry, seed=1)
    for name in ("a", "b"):
        made.cache.set_node(make_node(name))
    made.objects.set(SERVICE)
    return made


def replace(scheduler: SchedulerCore, rule: type[Plugin]) -> None:
    registry = registry_with(rule)
    scheduler.replace_plugins(load(registry), registry)


def chosen(scheduler: SchedulerCore, profile: str) -> str:
    return scheduler.decide(make_pod("p", scheduler_name=profile)).node_name


def rule_of(scheduler: SchedulerCore, profile: str) -> Any:
    return scheduler.profiles[profile].plugins.plugins["Rule"]


def test_every_profile_has_the_new_class(scheduler: SchedulerCore) -> None:
    assert [chosen(scheduler, name) for name in ("one", "two")] == ["a", "a"]
    replace(scheduler, Changed)
    assert [chosen(scheduler, name) for name in ("one", "two")] == ["b", "b"]


def test_the_others_are_the_same_instances(scheduler: SchedulerCore) -> None:
    """What they know of the cluster is not lost, and their handle leads to the new profile."""
    before = scheduler.profiles["one"]
    replace(scheduler, Changed)
    after = scheduler.profiles["one"]
    unchanged = {name: plugin for name, plugin in before.plugins.plugins.items() if name != "Rule"}
    assert {name: after.plugins.plugins[name] for name in unchanged} == unchanged
    assert after.handle is before.handle
    assert after.handle.evaluation is after.evaluation


def test_the_new_instance_hears_what_the_old_one_did(scheduler: SchedulerCore) -> None:
    """Everything that is there, then every change; the old one hears no more."""
    old = rule_of(scheduler, "one")
    replace(scheduler, Changed)
    scheduler.objects.set(SERVICE)
    assert (old.heard, rule_of(scheduler, "one").heard) == (["web"], ["web", "web"])


def test_a_failure_in_one_profile_changes_none(scheduler: SchedulerCore) -> None:
    """Nor does what was made in the meantime hear of anything."""
    before = dict(scheduler.profiles)
    with pytest.raises(PluginError, match="its constructor raised ValueError: not here"):
        replace(scheduler, FailsInTheSecond)
    assert scheduler.profiles == before
    scheduler.objects.set(SERVICE)
    assert rule_of(scheduler, "one").heard == ["web", "web"]
    assert [made.heard for made in FailsInTheSecond.made] == [[], []]


class Waiting(Rule):
    """Reads no object of what its pods wait for."""

    events_to_register = (
        ClusterEvent("foos.v1.example.com", Action.ADD),
        ClusterEvent("services.v1", Action.ADD),
        ClusterEvent(Resource.NODE, Action.ADD),
    )


def test_a_resource_that_retries_pods_is_watched() -> None:
    """Unless it is anyway; Rule reads services."""
    registry = registry_with(Waiting)
    made = new_core(load(registry), registry, seed=1)
    assert made.objects.custom_kinds == (("example.com/v1", "foos"),)


class Counting(Rule):
    """Declares a metric; so does its successor, with a label more."""

    labels: tuple[str, ...] = ()

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.made = handle.metrics.gauge("rules_made", "Instances.", *self.labels)
        self.made.labels(*self.labels).inc()


class CountingAgain(Counting):
    """What Counting is after a save."""


class CountingByLabel(Counting):
    labels = ("kind",)


class CountsAndFails(CountingByLabel):
    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        raise ValueError("not today")


def rules_made(scheduler: SchedulerCore) -> list[str]:
    lines = scheduler.plugin_metrics.registry.text().decode().splitlines()
    return [line for line in lines if line.startswith("rules_made")]


def test_metrics_follow_the_instances(scheduler: SchedulerCore) -> None:
    """They go on after a reload, change with the class, stay where a reload fails, and end with the last."""
    replace(scheduler, Counting)
    replace(scheduler, CountingAgain)
    assert rules_made(scheduler) == ["rules_made 4.0"]

    with pytest.raises(PluginError, match="not today"):
        replace(scheduler, CountsAndFails)
    assert rules_made(scheduler) == ["rules_made 4.0"]

    replace(scheduler, CountingByLabel)
    assert rules_made(scheduler) == ['rules_made{kind="kind"} 2.0']
    replace(scheduler, Rule)
    assert rules_made(scheduler) == []
