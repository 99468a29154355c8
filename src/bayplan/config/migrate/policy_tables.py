"""Predicates and priorities of the scheduler's Policy, and the plugins that do their work now."""

from __future__ import annotations

#: Predicate → plugins.
PREDICATES = {
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "PodFitsResources": ("NodeResourcesFit",),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
    "EvenPodsSpread": ("PodTopologySpread",),
}
#: In force whether a Policy names them or not.
MANDATORY_PREDICATES = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
#: In force when a Policy has no `predicates`.
DEFAULT_PREDICATES = (
    "NoVolumeZoneConflict",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "CheckVolumeBinding",
    "EvenPodsSpread",
)
#: Predicates of volumes of one cloud; all volumes are CSI volumes now.
CLOUD_VOLUME_PREDICATES = frozenset(
    {"MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxAzureDiskVolumeCount", "MaxCinderVolumeCount"}
)

#: Priority → plugin.
PRIORITIES = {
    "SelectorSpreadPriority": "PodTopologySpread",
    "ServiceSpreadingPriority": "PodTopologySpread",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesFit",
    "MostRequestedPriority": "NodeResourcesFit",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "ImageLocalityPriority": "ImageLocality",
}
#: Priorities that scored by resources → the name that `scoring.STRATEGIES` has for them.
RESOURCE_PRIORITIES = {
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
}
SPREADING_PRIORITIES = ("SelectorSpreadPriority", "ServiceSpreadingPriority")
#: Priorities without a successor → why, or what to use.
GONE_PRIORITIES = {
    "NodePreferAvoidPodsPriority": "has no equivalent; taint the nodes with the effect PreferNoSchedule",
    "EqualPriority": "gave all nodes the same score and is left out",
}
#: In force when a Policy has no `priorities`.
DEFAULT_PRIORITIES = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}

#: Plugin → its extension points that do the work of a predicate, in the order in which predicates ran.
FILTER_POINTS = {
    "NodeUnschedulable": ("filter",),
    "NodeName": ("filter",),
    "NodePorts": ("preFilter", "filter"),
    "NodeAffinity": ("preFilter", "filter"),
    "NodeResourcesFit": ("preFilter", "filter"),
    "VolumeRestrictions": ("preFilter", "filter"),
    "TaintToleration": ("filter",),
    "NodeVolumeLimits": ("preFilter", "filter"),
    "VolumeBinding": ("preFilter", "filter", "reserve", "preBind"),
    "VolumeZone": ("preFilter", "filter"),
    "PodTopologySpread": ("preFilter", "filter"),
    "InterPodAffinity": ("preFilter", "filter"),
}
#: Scoring plugins that prepare nothing.
WITHOUT_PRE_SCORE = frozenset({"ImageLocality"})
#: Plugins that are neither predicate nor priority and stay on, among them those that are younger than Policy.
ALWAYS_ON: tuple[dict[str, str | int], ...] = (
    {"name": "SchedulingGates"},
    {"name": "PrioritySort"},
    {"name": "DynamicResources", "weight": 2},
    {"name": "DefaultPreemption"},
    {"name": "DefaultBinder"},
    {"name": "NodeDeclaredFeatures"},
)
