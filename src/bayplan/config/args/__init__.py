"""The arguments of the default plugins, and the base class for everybody else's."""

from bayplan.config.args.affinity import AddedNodeAffinity, InterPodAffinityArgs, NodeAffinityArgs
from bayplan.config.args.base import Args, ResourceSpec
from bayplan.config.args.dynamic_resources import DynamicResourcesArgs
from bayplan.config.args.preemption import DefaultPreemptionArgs
from bayplan.config.args.resources import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from bayplan.config.args.topology_spread import PodTopologySpreadArgs, TopologySpreadConstraint

__all__ = [
    "AddedNodeAffinity",
    "Args",
    "DefaultPreemptionArgs",
    "DynamicResourcesArgs",
    "InterPodAffinityArgs",
    "NodeAffinityArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PodTopologySpreadArgs",
    "ResourceSpec",
    "ScoringStrategy",
    "TopologySpreadConstraint",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
]
