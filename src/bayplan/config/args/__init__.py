"""The arguments of the plugins that ship with Bayplan, and the base class for those of other plugins."""

from bayplan.config.args.affinity import AddedNodeAffinity, InterPodAffinityArgs, NodeAffinityArgs
from bayplan.config.args.allocatable import NodeResourcesAllocatableArgs
from bayplan.config.args.base import Args, ResourceSpec
from bayplan.config.args.coscheduling import CoschedulingArgs
from bayplan.config.args.dynamic_resources import DynamicResourcesArgs
from bayplan.config.args.node_metadata import NodeMetadataArgs
from bayplan.config.args.preemption import DefaultPreemptionArgs, PreemptionTolerationArgs
from bayplan.config.args.resources import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    ScoringStrategy,
    UtilizationShapePoint,
    VolumeBindingArgs,
)
from bayplan.config.args.topology_spread import DefaultSpreadConstraint, PodTopologySpreadArgs
from bayplan.config.args.trimaran import LoadVariationRiskBalancingArgs, TargetLoadPackingArgs, TrimaranArgs

__all__ = [
    "AddedNodeAffinity",
    "Args",
    "CoschedulingArgs",
    "DefaultPreemptionArgs",
    "DefaultSpreadConstraint",
    "DynamicResourcesArgs",
    "InterPodAffinityArgs",
    "LoadVariationRiskBalancingArgs",
    "NodeAffinityArgs",
    "NodeMetadataArgs",
    "NodeResourcesAllocatableArgs",
    "NodeResourcesBalancedAllocationArgs",
    "NodeResourcesFitArgs",
    "PodTopologySpreadArgs",
    "PreemptionTolerationArgs",
    "ResourceSpec",
    "ScoringStrategy",
    "TargetLoadPackingArgs",
    "TrimaranArgs",
    "UtilizationShapePoint",
    "VolumeBindingArgs",
]
