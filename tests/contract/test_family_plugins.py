"""The contract of the scheduler-plugins family: the extension points of v0.34.7, and arguments that load."""

from __future__ import annotations

import pytest

from bayplan import config
from bayplan.framework import check_class
from bayplan.plugins import BUILTIN, FAMILY
from bayplan.scheduler import default_registry, new_core

#: Plugin → its extension points upstream (its interfaces).
UPSTREAM_POINTS = {
    "CapacityScheduling": "preFilter postFilter reserve",
    "Coscheduling": "queueSort preFilter postFilter reserve permit",
    "LoadVariationRiskBalancing": "score",
    "NodeMetadata": "score",
    "NodeResourcesAllocatable": "score",
    "PodState": "score",
    "PreemptionToleration": "postFilter",
    "QOSSort": "queueSort",
    "TargetLoadPacking": "score",
}
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {{enabled: [{{name: {name}}}]}}
    queueSort: {{disabled: [{{name: PrioritySort}}], enabled: [{{name: {sort}}}]}}
  pluginConfig:
  - name: NodeMetadata
    args: {{metadataKey: k, metadataSource: Label, metadataType: Number, scoringStrategy: Highest}}
"""
REGISTRY = default_registry()


def test_every_plugin_is_listed() -> None:
    """None of them shares its name with one of kube-scheduler's own."""
    assert sorted(FAMILY) == sorted(UPSTREAM_POINTS)
    assert not FAMILY.keys() & BUILTIN.keys()


@pytest.mark.parametrize("name", FAMILY)
def test_points_are_those_of_the_original(name: str) -> None:
    """Configurations that name a point load, and multiPoint does what it does there."""
    plugin = REGISTRY.get(name).plugin
    assert sorted(check_class(plugin)) == sorted(UPSTREAM_POINTS[name].split())
    assert plugin.name == name


@pytest.mark.parametrize("name", FAMILY)
def test_plugin_starts_in_a_profile(name: str) -> None:
    """With its default arguments, where there are defaults."""
    sort = name if "queueSort" in UPSTREAM_POINTS[name] else "PrioritySort"
    text = CONFIGURATION.format(name=name, sort=sort)
    scheduler = new_core(config.load(text, source="test", catalogue=REGISTRY), REGISTRY)
    assert name in scheduler.profiles["default-scheduler"].plugins.plugins
