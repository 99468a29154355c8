"""Predicates and priorities of the scheduler's Policy, and the plugins that replace them."""

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
#: Always active, even if a Policy does not name them.
MANDATORY_PREDICATES = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
#: Active if a Policy has no `predicates`.
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
#: Priorities without a replacement → the reason, or what to use.
REMOVED_PRIORITIES = {
    "NodePreferAvoidPodsPriority": "has no equivalent; taint the nodes with the effect PreferNoSchedule",
    "EqualPriority": "gave all nodes the same score and is left out",
}
#: Active if a Policy has no `priorities`.
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

#: Plugin → its extension points that replace a predicate, in the order in which predicates ran.
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
#: Scoring plugins without PreScore.
WITHOUT_PRE_SCORE = frozenset({"ImageLocality"})
#: Plugins that replace neither predicate nor priority and stay enabled, including those newer than Policy.
ALWAYS_ON: tuple[dict[str, str | int], ...] = (
    {"name": "SchedulingGates"},
    {"name": "PrioritySort"},
    {"name": "DynamicResources", "weight": 2},
    {"name": "DefaultPreemption"},
    {"name": "DefaultBinder"},
    {"name": "NodeDeclaredFeatures"},
)
