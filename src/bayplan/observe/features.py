"""Feature gates of Kubernetes 1.36 with their defaults, and the validation of gates that users set.

Bayplan decides as kube-scheduler does with every gate at its default. A gate that affects scheduling can therefore
not be changed. The other gates are for other components: setting one has no effect here.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple


class Gate(NamedTuple):
    #: BETA, ALPHA, DEPRECATED; empty once it is generally available.
    stage: str
    default: bool


def _gates(stage: str, default: bool, names: str) -> dict[str, Gate]:
    return {name: Gate(stage, default) for name in names.split()}


#: As a kube-scheduler 1.36.4 reports them in kubernetes_feature_enabled.
GATES: Final[Mapping[str, Gate]] = {
    **_gates(
        "",
        True,
        """
        APIServerTracing AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints AnyVolumeDataSource
        AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache CPUManagerPolicyOptions
        CRDValidationRatcheting CSIServiceAccountTokenSecrets ConsistentListFromCache
        CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess DRAPrioritizedList
        DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation ExecProbeTimeout
        ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume InOrderInformers
        InPlacePodVerticalScaling InformerResourceVersion JobBackoffLimitPerIndex JobManagedBy
        JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI KubeletFineGrainedAuthz
        KubeletPSI KubeletPodResourcesDynamicResources KubeletPodResourcesGet KubeletTracing
        LogarithmicScaleDown MatchLabelKeysInPodAffinity MultiCIDRServiceAllocator
        MutableCSINodeAllocatableCount MutatingAdmissionPolicy NFTablesProxyMode
        NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap OrderedNamespaceDeletion
        PodLifecycleSleepAction PodLifecycleSleepActionAllowZero PodObservedGenerationTracking
        PodSchedulingReadiness PreferSameTrafficDistribution ProcMountType RecoverVolumeExpansionFailure
        RecursiveReadOnlyMounts RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation
        ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy
        SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController
        ServiceAccountTokenJTI ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation
        ServiceAccountTokenPodNodeInfo SidecarContainers StreamingCollectionEncodingToJSON
        StreamingCollectionEncodingToProtobuf StructuredAuthenticationConfiguration
        SupplementalGroupsPolicy SystemdWatchdog TopologyManagerPolicyOptions UserNamespacesSupport
        VolumeAttributesClass WinDSR WinOverlay
        """,
    ),
    **_gates(
        "ALPHA",
        False,
        """
        APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage
        CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth ClientsAllowCBOR ClientsPreferCBOR
        CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook
        ContainerStopSignals CrossNamespaceVolumeDataSource DRAListTypeAttributes
        DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims EventedPLEG
        GangScheduling GenericWorkload HPAScaleToZero ImageVolumeWithDigest
        InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScalingExclusiveMemory
        KubeletInUserNamespace LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS
        MutablePVNodeAffinity NativeHistograms PersistentVolumeClaimUnusedSinceTime
        PodAndContainerStatsFromCRI PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI QOSReserved
        ReduceDefaultCrashLoopBackOffDecay RuntimeClassInImageCriApi ShardedListAndWatch
        StorageCapacityScoring StorageVersionAPI TaintTolerationComparisonOperators
        TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions
        UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity
        WorkloadAwarePreemption WorkloadWithJob
        """,
    ),
    **_gates(
        "BETA",
        False,
        """
        AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode
        CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring
        MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls
        StorageVersionMigrator
        """,
    ),
    **_gates(
        "BETA",
        True,
        """
        APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO
        AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions
        CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation
        ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation
        ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity
        DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices
        DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization
        DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas
        DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown
        GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride
        InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling
        InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax
        KubeletEnsureSecretPulledImages KubeletSeparateDiskGC
        KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions
        MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge
        MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs
        NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching
        PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition
        PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences
        RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile
        RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage
        RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption
        SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate
        StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob
        StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet
        StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation
        StructuredAuthenticationConfigurationEgressSelector
        StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation
        TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests
        UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy UnlockWhileProcessingFIFO
        WatchCacheInitializationPostStartHook WatchList WatchListClient WindowsGracefulNodeShutdown
        """,
    ),
    **_gates(
        "DEPRECATED",
        False,
        """
        AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests
        AllowOverwriteTerminationGracePeriodSeconds ChangeContainerStatusOnKubeletRestart
        DeclarativeValidationTakeover GitRepoVolumeDriver KMSv1 KubeletRegistrationGetOnExistsOnly
        SeparateCacheWatchRPC WindowsHostNetwork
        """,
    ),
    **_gates(
        "DEPRECATED",
        True,
        """
        AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs DisableNodeKubeProxyVersion
        KubeletPodResourcesListUseActivePods ServiceCIDRStatusFieldWiping StorageNamespaceIndex
        """,
    ),
}

#: The gates that kube-scheduler 1.36 reads (`features.` in pkg/scheduler).
_OF_THE_SCHEDULER: Final = frozenset(
    """
    ClearingNominatedNodeNameAfterBinding CoordinatedLeaderElection DRAAdminAccess DRAConsumableCapacity
    DRADeviceBindingConditions DRADeviceTaintRules DRADeviceTaints DRAExtendedResource
    DRAListTypeAttributes DRANodeAllocatableResources DRAPartitionableDevices DRAPrioritizedList
    DRAResourceClaimDeviceStatus DRASchedulerFilterTimeout DRAWorkloadResourceClaims
    DynamicResourceAllocation GangScheduling GenericWorkload InPlacePodLevelResourcesVerticalScaling
    InPlacePodVerticalScaling MatchLabelKeysInPodAffinity MatchLabelKeysInPodTopologySpread
    MatchLabelKeysInPodTopologySpreadSelectorMerge MutableCSINodeAllocatableCount NodeDeclaredFeatures
    NodeInclusionPolicyInPodTopologySpread NominatedNodeNameForExpectation PodLevelResources
    PodSchedulingReadiness SchedulerAsyncAPICalls SchedulerAsyncPreemption SchedulerPopFromBackoffQ
    SchedulerQueueingHints SidecarContainers StorageCapacityScoring TaintTolerationComparisonOperators
    TopologyAwareWorkloadScheduling VolumeAttributesClass VolumeLimitScaling WorkloadAwarePreemption
    """.split()  # noqa: SIM905
)


class FeatureGates:
    """Which gates are enabled."""

    def __init__(self, settings: Mapping[str, bool]) -> None:
        self._settings = dict(settings)

    @classmethod
    def parse(cls, items: Iterable[str]) -> FeatureGates:
        """Parse `Name=true` or `kube:Name=true`; raises ValueError for the first invalid one."""
        settings: dict[str, bool] = {}
        for item in items:
            name, equals, text = item.rpartition(":")[2].partition("=")
            name, text = name.strip(), text.strip()
            if not equals:
                raise ValueError(f'"{item}" is not a feature gate; write for example {name or "Name"}=true')
            if text not in _BOOLEANS:
                raise ValueError(f'{name} is "{text}"; a feature gate is true or false')
            settings[name] = _BOOLEANS[text]
        for name, value in settings.items():
            if problem := _problem(name, value):
                raise ValueError(problem)
        return cls(settings)

    def is_enabled(self, name: str) -> bool:
        return self._settings.get(name, GATES[name].default)

    def __iter__(self) -> Iterator[tuple[str, str, bool]]:
        """(name, stage, is enabled), for kubernetes_feature_enabled."""
        return ((name, gate.stage, self.is_enabled(name)) for name, gate in GATES.items())


_BOOLEANS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def _problem(name: str, value: bool) -> str:
    gate = GATES.get(name)
    if gate is None:
        close = difflib.get_close_matches(name, GATES, n=1)
        return f"unrecognized feature gate: {name}" + (f"; did you mean {close[0]}?" if close else "")
    if value == gate.default:
        return ""
    if name in ("AllAlpha", "AllBeta"):
        return f"{name}={_go(value)} would change what the scheduler decides; name the gates of other components"
    if name in _OF_THE_SCHEDULER:
        return (
            f"{name}={_go(value)}: Bayplan decides with this gate as it is in 1.36 by default, {_go(gate.default)}"
        )
    return ""


def _go(value: bool) -> str:
    return "true" if value else "false"
