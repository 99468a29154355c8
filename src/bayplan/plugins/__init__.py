"""The plugins that ship with Bayplan, one per file, named as in Kubernetes.

They import `framework`, `model` and the args of `config`, and do not know each other. Only the composition root
imports this package. Classes are imported when a profile asks for them.
"""

from __future__ import annotations

from typing import Final

#: Name → where the class is.
BUILTIN: Final = {
    "SchedulingGates": "bayplan.plugins.scheduling_gates:SchedulingGates",
    "PrioritySort": "bayplan.plugins.priority_sort:PrioritySort",
    "NodeUnschedulable": "bayplan.plugins.node_unschedulable:NodeUnschedulable",
    "NodeName": "bayplan.plugins.node_name:NodeName",
    "TaintToleration": "bayplan.plugins.taint_toleration:TaintToleration",
    "NodeAffinity": "bayplan.plugins.node_affinity:NodeAffinity",
    "NodePorts": "bayplan.plugins.node_ports:NodePorts",
    "NodeResourcesFit": "bayplan.plugins.node_resources_fit:NodeResourcesFit",
    "VolumeRestrictions": "bayplan.plugins.volume_restrictions:VolumeRestrictions",
    "NodeVolumeLimits": "bayplan.plugins.node_volume_limits:NodeVolumeLimits",
    "VolumeBinding": "bayplan.plugins.volume_binding:VolumeBinding",
    "VolumeZone": "bayplan.plugins.volume_zone:VolumeZone",
    "PodTopologySpread": "bayplan.plugins.pod_topology_spread:PodTopologySpread",
    "InterPodAffinity": "bayplan.plugins.inter_pod_affinity:InterPodAffinity",
    "DynamicResources": "bayplan.plugins.dynamic_resources:DynamicResources",
    "DefaultPreemption": "bayplan.plugins.default_preemption:DefaultPreemption",
    "NodeResourcesBalancedAllocation": (
        "bayplan.plugins.node_resources_balanced_allocation:NodeResourcesBalancedAllocation"
    ),
    "ImageLocality": "bayplan.plugins.image_locality:ImageLocality",
    "DefaultBinder": "bayplan.plugins.default_binder:DefaultBinder",
    "NodeDeclaredFeatures": "bayplan.plugins.node_declared_features:NodeDeclaredFeatures",
}

#: The scheduler-plugins family (its v0.34.7): a configuration may name them, none is enabled by default.
FAMILY: Final = {
    "Coscheduling": "bayplan.plugins.coscheduling:Coscheduling",
    "CapacityScheduling": "bayplan.plugins.capacity_scheduling:CapacityScheduling",
    "NodeResourcesAllocatable": "bayplan.plugins.node_resources_allocatable:NodeResourcesAllocatable",
    "PreemptionToleration": "bayplan.plugins.preemption_toleration:PreemptionToleration",
    "QOSSort": "bayplan.plugins.qos_sort:QOSSort",
    "PodState": "bayplan.plugins.pod_state:PodState",
    "NodeMetadata": "bayplan.plugins.node_metadata:NodeMetadata",
    "TargetLoadPacking": "bayplan.plugins.target_load_packing:TargetLoadPacking",
    "LoadVariationRiskBalancing": "bayplan.plugins.load_variation_risk_balancing:LoadVariationRiskBalancing",
}

#: What every profile starts with, in kube-scheduler's order, with weights (0: no weight given).
DEFAULT_PLUGINS: Final = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 2),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("NodeDeclaredFeatures", 0),
)

#: What kube-scheduler registers besides, behind alpha feature gates: name → extension points, what to do instead.
ALPHA: Final = {
    "GangScheduling": (
        frozenset({"preEnqueue", "permit"}),
        "it is alpha in Kubernetes 1.36 and off by default; leave it out",
    ),
    "TopologyPlacementGenerator": (
        frozenset({"placementGenerate"}),
        "placements of pod groups are alpha in Kubernetes 1.36 and off by default; leave it out",
    ),
    "PodGroupPodsCount": (
        frozenset({"placementScore"}),
        "placements of pod groups are alpha in Kubernetes 1.36 and off by default; leave it out",
    ),
}
