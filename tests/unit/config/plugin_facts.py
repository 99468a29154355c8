"""A catalogue for tests: the plugins of kube-scheduler 1.36 with their extension points, and room for more."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bayplan.config import ConfigError, Loaded, PluginFacts, load
from bayplan.config.args import (
    Args,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    VolumeBindingArgs,
)
from bayplan.release import release_named

#: Name → extension points, in the default order; the last three are registered but off by default.
POINTS = {
    "SchedulingGates": "preEnqueue",
    "PrioritySort": "queueSort",
    "NodeUnschedulable": "filter",
    "NodeName": "filter",
    "TaintToleration": "filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodePorts": "preFilter filter",
    "NodeResourcesFit": "preFilter filter preScore score placementScore",
    "VolumeRestrictions": "preFilter filter",
    "NodeVolumeLimits": "preFilter filter",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeZone": "preFilter filter",
    "PodTopologySpread": "preFilter filter preScore score",
    "InterPodAffinity": "preFilter filter preScore score",
    "DynamicResources": "preEnqueue preFilter filter postFilter score reserve preBind",
    "DefaultPreemption": "preEnqueue postFilter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "ImageLocality": "score",
    "DefaultBinder": "bind",
    "NodeDeclaredFeatures": "preFilter filter",
    "GangScheduling": "preEnqueue permit",
    "TopologyPlacementGenerator": "placementGenerate",
    "PodGroupPodsCount": "placementScore",
}
OFF = ("GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount")
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}
ARGS: dict[str, type[Args]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}


class TableCatalogue:
    """A catalogue made from tables."""

    #: The tables are those of this release.
    release = release_named("1.36")
    default_plugins = tuple((name, WEIGHTS.get(name, 0)) for name in POINTS if name not in OFF)

    def __init__(self, more: Mapping[str, PluginFacts] | None = None) -> None:
        self._facts = {
            name: PluginFacts(name, frozenset(points.split()), ARGS.get(name)) for name, points in POINTS.items()
        }
        self._facts |= more or {}

    def lookup(self, name: str) -> PluginFacts | None:
        return self._facts.get(name)

    def names(self) -> Collection[str]:
        return {facts.name for facts in self._facts.values()}


def facts(name: str, points: str, args: type[Args] | None = None) -> PluginFacts:
    """A third-party plugin: `facts("sample", "filter score")`."""
    return PluginFacts(name, frozenset(points.split()), args)


def catalogue(*more: PluginFacts) -> TableCatalogue:
    """The default plugins and `more`."""
    return TableCatalogue({plugin.name: plugin for plugin in more})


HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def loaded(text: str, *more: PluginFacts) -> Loaded:
    """Load `text`; one that does not begin with an apiVersion is the inside of a v1 configuration."""
    text = text if text.startswith(("apiVersion", "{")) else HEAD + text
    return load(text, source="scheduler.yaml", catalogue=catalogue(*more))


def refusal(text: str, *more: PluginFacts) -> list[str]:
    """The lines that say what is wrong; fails if nothing is."""
    try:
        loaded(text, *more)
    except ConfigError as error:
        return str(error).splitlines()
    raise AssertionError("the configuration was accepted")
