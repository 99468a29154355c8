"""The plugins that ship with Bayplan: one file per plugin, named as in Kubernetes, grouped by topic.

Modules with a leading underscore are helpers beside the plugins that use them; those at this level serve several
groups. Plugins import `framework`, `devices`, `model` and the args of `config`, never each other. Only the
composition root imports this package. A class is imported when a profile first uses it.
"""

from __future__ import annotations

from typing import Final

#: Name → where the class is.
BUILTIN: Final = {
    "SchedulingGates": "bayplan.plugins.queueing.scheduling_gates:SchedulingGates",
    "PrioritySort": "bayplan.plugins.queueing.priority_sort:PrioritySort",
    "NodeUnschedulable": "bayplan.plugins.nodes.node_unschedulable:NodeUnschedulable",
    "NodeName": "bayplan.plugins.nodes.node_name:NodeName",
    "TaintToleration": "bayplan.plugins.nodes.taint_toleration:TaintToleration",
    "NodeAffinity": "bayplan.plugins.nodes.node_affinity:NodeAffinity",
    "NodePorts": "bayplan.plugins.nodes.node_ports:NodePorts",
    "NodeResourcesFit": "bayplan.plugins.resources.node_resources_fit:NodeResourcesFit",
    "VolumeRestrictions": "bayplan.plugins.volumes.volume_restrictions:VolumeRestrictions",
    "NodeVolumeLimits": "bayplan.plugins.volumes.node_volume_limits:NodeVolumeLimits",
    "VolumeBinding": "bayplan.plugins.volumes.volume_binding:VolumeBinding",
    "VolumeZone": "bayplan.plugins.volumes.volume_zone:VolumeZone",
    "PodTopologySpread": "bayplan.plugins.topology_spread.pod_topology_spread:PodTopologySpread",
    "InterPodAffinity": "bayplan.plugins.interpod_affinity.inter_pod_affinity:InterPodAffinity",
    "DynamicResources": "bayplan.plugins.devices.dynamic_resources:DynamicResources",
    "DefaultPreemption": "bayplan.plugins.preemption.default_preemption:DefaultPreemption",
    "NodeResourcesBalancedAllocation": (
        "bayplan.plugins.resources.node_resources_balanced_allocation:NodeResourcesBalancedAllocation"
    ),
    "ImageLocality": "bayplan.plugins.nodes.image_locality:ImageLocality",
    "DefaultBinder": "bayplan.plugins.default_binder:DefaultBinder",
    "NodeDeclaredFeatures": "bayplan.plugins.nodes.node_declared_features:NodeDeclaredFeatures",
}

#: The scheduler-plugins family (its v0.34.7): a configuration may name them, none is enabled by default.
FAMILY: Final = {
    "Coscheduling": "bayplan.plugins.gangs.coscheduling:Coscheduling",
    "CapacityScheduling": "bayplan.plugins.quotas.capacity_scheduling:CapacityScheduling",
    "NodeResourcesAllocatable": "bayplan.plugins.resources.node_resources_allocatable:NodeResourcesAllocatable",
    "PreemptionToleration": "bayplan.plugins.preemption.preemption_toleration:PreemptionToleration",
    "QOSSort": "bayplan.plugins.queueing.qos_sort:QOSSort",
    "PodState": "bayplan.plugins.nodes.pod_state:PodState",
    "NodeMetadata": "bayplan.plugins.nodes.node_metadata:NodeMetadata",
    "TargetLoadPacking": "bayplan.plugins.trimaran.target_load_packing:TargetLoadPacking",
    "LoadVariationRiskBalancing": (
        "bayplan.plugins.trimaran.load_variation_risk_balancing:LoadVariationRiskBalancing"
    ),
}
