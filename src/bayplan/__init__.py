"""Bayplan: a Kubernetes scheduler and scheduling framework in Python.

What a plugin author imports is here, and the cluster in one process::

    from bayplan import Cluster, Plugin, Status

`bayplan.testing` has what tests need. `help(bayplan.Plugin)` is the contract of plugins.

Names are loaded when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bayplan.version import __version__

if TYPE_CHECKING:
    from bayplan.apiserver.cluster import (
        Cluster,
    )
    from bayplan.client import (
        ApiError,
        ConflictError,
        NotFoundError,
    )
    from bayplan.config import (
        ConfigError,
        FieldError,
    )
    from bayplan.config.args import (
        ResourceSpec,
    )
    from bayplan.framework import (
        Action,
        Args,
        BackgroundTask,
        BoolArray,
        ClassScores,
        Client,
        Clock,
        ClusterEvent,
        Code,
        Comparable,
        CycleState,
        Diagnosis,
        Domains,
        Evaluation,
        EventRecorder,
        FilterOutcome,
        Handle,
        Hint,
        Index,
        Informers,
        IntArray,
        LabelColumn,
        Lister,
        Metrics,
        NodeInfo,
        NodeTable,
        Nominator,
        Plugin,
        PluginError,
        PodQuery,
        PostFilterResult,
        PreBindPreFlight,
        Preemption,
        PreFilterResult,
        QueuedPod,
        QueueingHint,
        Reads,
        Resource,
        ScoreArray,
        ScoreOutcome,
        Snapshot,
        Status,
        Verdict,
        WaitingPod,
        WaitingPods,
        check_class,
        default_normalize,
        scores_alone,
    )
    from bayplan.framework.logs import (
        Logger,
        Ref,
        get_logger,
    )
    from bayplan.model import (
        ConfigMap,
        CSIDriver,
        CSINode,
        CSIStorageCapacity,
        DeviceClass,
        DeviceTaintRule,
        ElasticQuota,
        Event,
        KubeObject,
        LabelSelector,
        Lease,
        Namespace,
        Node,
        PersistentVolume,
        PersistentVolumeClaim,
        Pod,
        PodDisruptionBudget,
        PodGroup,
        PriorityClass,
        ReplicaSet,
        ReplicationController,
        ResourceClaim,
        ResourceClaimTemplate,
        ResourceSlice,
        Secret,
        Selector,
        Service,
        StatefulSet,
        StorageClass,
        VolumeAttachment,
        compile_selector,
        parse_milli,
        parse_value,
        selector_from_labels,
    )
    from bayplan.observe.instruments import Counter, Gauge, Histogram

__all__ = [
    "Action",
    "ApiError",
    "Args",
    "BackgroundTask",
    "BoolArray",
    "CSIDriver",
    "CSINode",
    "CSIStorageCapacity",
    "ClassScores",
    "Client",
    "Clock",
    "Cluster",
    "ClusterEvent",
    "Code",
    "Comparable",
    "ConfigError",
    "ConfigMap",
    "ConflictError",
    "Counter",
    "CycleState",
    "DeviceClass",
    "DeviceTaintRule",
    "Diagnosis",
    "Domains",
    "ElasticQuota",
    "Evaluation",
    "Event",
    "EventRecorder",
    "FieldError",
    "FilterOutcome",
    "Gauge",
    "Handle",
    "Hint",
    "Histogram",
    "Index",
    "Informers",
    "IntArray",
    "KubeObject",
    "LabelColumn",
    "LabelSelector",
    "Lease",
    "Lister",
    "Logger",
    "Metrics",
    "Namespace",
    "Node",
    "NodeInfo",
    "NodeTable",
    "Nominator",
    "NotFoundError",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Plugin",
    "PluginError",
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "PodQuery",
    "PostFilterResult",
    "PreBindPreFlight",
    "PreFilterResult",
    "Preemption",
    "PriorityClass",
    "QueuedPod",
    "QueueingHint",
    "Reads",
    "Ref",
    "ReplicaSet",
    "ReplicationController",
    "Resource",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "ResourceSpec",
    "ScoreArray",
    "ScoreOutcome",
    "Secret",
    "Selector",
    "Service",
    "Snapshot",
    "StatefulSet",
    "Status",
    "StorageClass",
    "Verdict",
    "VolumeAttachment",
    "WaitingPod",
    "WaitingPods",
    "__version__",
    "check_class",
    "compile_selector",
    "default_normalize",
    "get_logger",
    "parse_milli",
    "parse_value",
    "scores_alone",
    "selector_from_labels",
]

#: Where the names are that are neither in `bayplan.framework` nor in `bayplan.model`.
_ELSEWHERE = {
    "Counter": "bayplan.observe.instruments",
    "Gauge": "bayplan.observe.instruments",
    "Histogram": "bayplan.observe.instruments",
    "Cluster": "bayplan.apiserver.cluster",
    "ApiError": "bayplan.client",
    "ConflictError": "bayplan.client",
    "NotFoundError": "bayplan.client",
    "ConfigError": "bayplan.config",
    "FieldError": "bayplan.config",
    "ResourceSpec": "bayplan.config.args",
    "Logger": "bayplan.framework.logs",
    "Ref": "bayplan.framework.logs",
    "get_logger": "bayplan.framework.logs",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bayplan' has no attribute {name!r}")
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    framework = importlib.import_module("bayplan.framework")
    return getattr(framework if name in framework.__all__ else importlib.import_module("bayplan.model"), name)


def __dir__() -> list[str]:
    return __all__
