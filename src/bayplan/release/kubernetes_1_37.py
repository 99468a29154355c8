"""Kubernetes 1.37, as recorded with v1.37.1: what changed since 1.36."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.release import kubernetes_1_36 as before
from bayplan.release.feature_gates import Gate, gates
from bayplan.release.release import Release
from bayplan.release.release_facts import ReleaseFacts

DEFAULT_PLUGINS: Final = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeName", 0),
    ("NodeUnschedulable", 0),
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

#: Gates that are gone: most were generally available for three releases, some became part of another one.
_REMOVED: Final = frozenset(
    """
    APIServerTracing AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
    AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache ConsistentListFromCache
    GangScheduling JobBackoffLimitPerIndex JobPodReplacementPolicy JobSuccessPolicy
    LogarithmicScaleDown OrderedNamespaceDeletion PodLifecycleSleepAction
    PodLifecycleSleepActionAllowZero PreventStaticPodAPIReferences RelaxedDNSSearchValidation
    ResilientWatchCacheInitialization RetryGenerateName SchedulerQueueingHints SidecarContainers
    StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf
    StructuredAuthenticationConfiguration WorkloadAwarePreemption
    """.split()  # noqa: SIM905
)

GATES: Final[Mapping[str, Gate]] = {
    **{name: gate for name, gate in before.GATES.items() if name not in _REMOVED},
    **gates(
        "",
        True,
        """
        ClusterTrustBundle ClusterTrustBundleProjection DRADeviceTaintRules DRADeviceTaints
        DRAExtendedResource DRAResourceClaimDeviceStatus HPAConfigurableTolerance HostnameOverride
        InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures PLEGOnDemandRelist
        PodCertificateRequest PodReadyToStartContainersCondition RelaxedServiceNameValidation
        SELinuxMount StorageVersionMigrator WatchCacheInitializationPostStartHook
        """,
    ),
    **gates(
        "ALPHA",
        False,
        """
        APIServerWebhookAuthenticationToken AtomicWriteVolumeUserFields CompositePodGroup
        ConsistentListFromCacheSkipTimeoutFallback DRADerivedAttributes DRADeviceCompatibilityGroups
        DRAOptionalNodeOperations DRAPartitionableDevicesType DefaultPodSysctls EmptyDirVolumeMode
        EvictionRequestAPI GRPCContainerProbeTLS H2CContainerProbe
        InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScalingSchedulerPreemption
        InterPodAffinityHostnameFastPath KubeProxyNFTablesLocalhostNodePorts
        KubeletAllocatedPodsEndpoint NodeLifecycleConditions PodGroupPreemptionPolicy
        SchedulerPreQueueingHints StatefulSetRecreateStrategy VolumeBindMountOptions
        """,
    ),
    **gates(
        "BETA",
        False,
        """
        DRAFractionalCapacityRange DRAWorkloadResourceClaims GenericWorkload
        PodAndContainerStatsFromCRI PodLevelResourceManagers
        """,
    ),
    **gates(
        "BETA",
        True,
        """
        AllowUnsafeMalformedObjectDeletion ConcurrentWatchObjectDecode EtcdRangeStream
        ExcludeAdmissionWebhookVirtualResources HPAGeneration HPAOptimizedSelectorStore
        HPAScaleToZero HugepageAwareEviction KubeletInUserNamespace
        ManifestBasedAdmissionControlConfig MaxUnavailableStatefulSet MemoryQoS NFTablesNetlink
        NativeHistograms NodeControllerLeaseCircuitBreaker PersistentVolumeClaimUnusedSinceTime
        PodLevelResourcesFixDefaulting PodLevelResourcesFixKubeletQOSClass PodsAPI
        StaleControllerConsistencyHPA StorageCapacityScoring VolumeLimitScaling WatchListCompression
        WebhookRoundTripLoadBalancing
        """,
    ),
    **gates(
        "DEPRECATED",
        True,
        """
        KubeProxyIPVS
        """,
    ),
}

GATE_DEPENDENCIES: Final[Mapping[str, tuple[str, ...]]] = {
    **{
        name: tuple(each for each in others if each not in _REMOVED)
        for name, others in before.GATE_DEPENDENCIES.items()
        if name not in _REMOVED and not _REMOVED.issuperset(others)
    },
    "CompositePodGroup": ("GenericWorkload", "TopologyAwareWorkloadScheduling"),
    "DRADerivedAttributes": ("DynamicResourceAllocation",),
    "DRADeviceCompatibilityGroups": ("DynamicResourceAllocation", "DRAPartitionableDevices"),
    "DRAFractionalCapacityRange": ("DRAConsumableCapacity",),
    "DRAOptionalNodeOperations": ("DynamicResourceAllocation", "NodeDeclaredFeatures"),
    "DRAPartitionableDevicesType": (
        "DynamicResourceAllocation",
        "DRAPartitionableDevices",
        "DRAResourcePoolStatus",
    ),
    "EventedPLEG": ("PLEGOnDemandRelist",),
    "H2CContainerProbe": ("NodeDeclaredFeatures",),
    "InPlacePodVerticalScalingMemoryBackedVolumes": ("InPlacePodVerticalScaling", "NodeDeclaredFeatures"),
    "InPlacePodVerticalScalingSchedulerPreemption": ("InPlacePodVerticalScaling",),
    "KubeletAllocatedPodsEndpoint": ("InPlacePodVerticalScaling",),
    "NodeControllerLeaseCircuitBreaker": ("AtomicFIFO",),
    "PodGroupPreemptionPolicy": ("GenericWorkload",),
    "PodLevelResourcesFixDefaulting": ("PodLevelResources",),
    "PodLevelResourcesFixKubeletQOSClass": ("PodLevelResources",),
    "StaleControllerConsistencyHPA": ("AtomicFIFO",),
}

SCHEDULER_GATES: Final = (before.SCHEDULER_GATES - _REMOVED) | frozenset(
    """
    CompositePodGroup DRADerivedAttributes DRADeviceCompatibilityGroups DRAFractionalCapacityRange
    DRAOptionalNodeOperations InPlacePodVerticalScalingSchedulerPreemption InterPodAffinityHostnameFastPath
    PodGroupPreemptionPolicy SchedulerPreQueueingHints
    """.split()  # noqa: SIM905
)

_OFF_BY_DEFAULT: Final = "is off by default in Kubernetes 1.37; leave it out"

KUBERNETES_1_37: Final = Release(
    version="1.37.1",
    min_compatibility=("1.36",),  # with 1.37 DRAFractionalCapacityRange would be on
    default_plugins=DEFAULT_PLUGINS,
    gates=GATES,
    gate_dependencies=GATE_DEPENDENCIES,
    scheduler_gates=SCHEDULER_GATES,
    omitted_points={},
    nominal_points={
        # For pod groups.
        "DynamicResources": frozenset({"podGroupPostFilter"}),
        "DefaultPreemption": frozenset({"podGroupPostFilter"}),
    },
    absent_plugins={
        "GangScheduling": (frozenset({"preEnqueue", "permit"}), f"it {_OFF_BY_DEFAULT}"),
        "TopologyPlacementGenerator": (
            frozenset({"placementGenerate"}),
            f"the placement of pod groups {_OFF_BY_DEFAULT}",
        ),
        "PodGroupPodsCount": (
            frozenset({"placementScore"}),
            f"the placement of pod groups {_OFF_BY_DEFAULT}",
        ),
    },
    facts=ReleaseFacts(),
)
