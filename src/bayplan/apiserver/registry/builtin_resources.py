"""The built-in kinds: names, scope, verbs and subresources as kube-apiserver reports them.

Groups are in kube-apiserver's order, which discovery keeps. Only subresources that are served here are listed:
those that need a running container (`exec`, `log`, `proxy`, …) are not. A release serves the kinds of which it has
published a schema.
"""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.registry.api_resources import ALL_VERBS, ApiResource, ResourceTable
from bayplan.apiserver.schema.schemas import published
from bayplan.release import DEFAULT, Release

_CREATE_ONLY: Final = ("create",)
_STATUS: Final = ("status",)
_SCALE: Final = ("scale", "status")
_ALL: Final = ("all",)
_EXTENSIONS: Final = ("api-extensions",)


class _Group:
    """Builds API resources of one group and version, one line each."""

    def __init__(self, name: str, version: str = "v1") -> None:
        self.name = name
        self.version = version

    def namespaced(
        self,
        kind: str,
        plural: str,
        short: str = "",
        *,
        categories: tuple[str, ...] = (),
        subresources: tuple[str, ...] = (),
        verbs: tuple[str, ...] = ALL_VERBS,
        storage: str = "",
        cluster: bool = False,
    ) -> ApiResource:
        return ApiResource(
            group=self.name,
            version=self.version,
            kind=kind,
            plural=plural,
            singular=kind.lower(),
            namespaced=not cluster,
            short_names=tuple(short.split()),
            categories=categories,
            verbs=verbs,
            subresources=subresources,
            storage=storage,
        )

    def cluster(
        self,
        kind: str,
        plural: str,
        short: str = "",
        *,
        categories: tuple[str, ...] = (),
        subresources: tuple[str, ...] = (),
        verbs: tuple[str, ...] = ALL_VERBS,
    ) -> ApiResource:
        return self.namespaced(
            kind, plural, short, categories=categories, subresources=subresources, verbs=verbs, cluster=True
        )


_core = _Group("")
_apps = _Group("apps")
_events = _Group("events.k8s.io")
_authentication = _Group("authentication.k8s.io")
_authorization = _Group("authorization.k8s.io")
_autoscaling = _Group("autoscaling", "v2")
_batch = _Group("batch")
_networking = _Group("networking.k8s.io")
_policy = _Group("policy")
_rbac = _Group("rbac.authorization.k8s.io")
_storage = _Group("storage.k8s.io")
_admission = _Group("admissionregistration.k8s.io")
_extensions = _Group("apiextensions.k8s.io")
_scheduling = _Group("scheduling.k8s.io")
_coordination = _Group("coordination.k8s.io")
_node = _Group("node.k8s.io")
_discovery = _Group("discovery.k8s.io")
_resource = _Group("resource.k8s.io")

RESOURCES: Final = (
    _core.namespaced("Binding", "bindings", verbs=_CREATE_ONLY),
    _core.namespaced("ConfigMap", "configmaps", "cm"),
    _core.namespaced("Endpoints", "endpoints", "ep"),
    # Two resources for the same objects.
    _core.namespaced("Event", "events", "ev", storage="events"),
    _core.namespaced("LimitRange", "limitranges", "limits"),
    _core.cluster(
        "Namespace",
        "namespaces",
        "ns",
        subresources=("finalize", "status"),
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    ),
    _core.cluster("Node", "nodes", "no", subresources=_STATUS),
    _core.namespaced("PersistentVolumeClaim", "persistentvolumeclaims", "pvc", subresources=_STATUS),
    _core.cluster("PersistentVolume", "persistentvolumes", "pv", subresources=_STATUS),
    _core.namespaced(
        "Pod",
        "pods",
        "po",
        categories=_ALL,
        subresources=("binding", "ephemeralcontainers", "eviction", "status"),
    ),
    _core.namespaced("PodTemplate", "podtemplates"),
    _core.namespaced(
        "ReplicationController", "replicationcontrollers", "rc", categories=_ALL, subresources=_SCALE
    ),
    _core.namespaced("ResourceQuota", "resourcequotas", "quota", subresources=_STATUS),
    _core.namespaced("Secret", "secrets"),
    _core.namespaced("ServiceAccount", "serviceaccounts", "sa", subresources=("token",)),
    _core.namespaced("Service", "services", "svc", categories=_ALL, subresources=_STATUS),
    _apps.namespaced("ControllerRevision", "controllerrevisions"),
    _apps.namespaced("DaemonSet", "daemonsets", "ds", categories=_ALL, subresources=_STATUS),
    _apps.namespaced("Deployment", "deployments", "deploy", categories=_ALL, subresources=_SCALE),
    _apps.namespaced("ReplicaSet", "replicasets", "rs", categories=_ALL, subresources=_SCALE),
    _apps.namespaced("StatefulSet", "statefulsets", "sts", categories=_ALL, subresources=_SCALE),
    _events.namespaced("Event", "events", "ev", storage="events"),
    _authentication.cluster("SelfSubjectReview", "selfsubjectreviews", verbs=_CREATE_ONLY),
    _authentication.cluster("TokenReview", "tokenreviews", verbs=_CREATE_ONLY),
    _authorization.namespaced("LocalSubjectAccessReview", "localsubjectaccessreviews", verbs=_CREATE_ONLY),
    _authorization.cluster("SelfSubjectAccessReview", "selfsubjectaccessreviews", verbs=_CREATE_ONLY),
    _authorization.cluster("SelfSubjectRulesReview", "selfsubjectrulesreviews", verbs=_CREATE_ONLY),
    _authorization.cluster("SubjectAccessReview", "subjectaccessreviews", verbs=_CREATE_ONLY),
    _autoscaling.namespaced(
        "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", categories=_ALL, subresources=_STATUS
    ),
    _batch.namespaced("CronJob", "cronjobs", "cj", categories=_ALL, subresources=_STATUS),
    _batch.namespaced("Job", "jobs", categories=_ALL, subresources=_STATUS),
    _networking.cluster("IngressClass", "ingressclasses"),
    _networking.namespaced("Ingress", "ingresses", "ing", subresources=_STATUS),
    _networking.namespaced("NetworkPolicy", "networkpolicies", "netpol"),
    _policy.namespaced("PodDisruptionBudget", "poddisruptionbudgets", "pdb", subresources=_STATUS),
    _rbac.cluster("ClusterRoleBinding", "clusterrolebindings"),
    _rbac.cluster("ClusterRole", "clusterroles"),
    _rbac.namespaced("RoleBinding", "rolebindings"),
    _rbac.namespaced("Role", "roles"),
    _storage.cluster("CSIDriver", "csidrivers"),
    _storage.cluster("CSINode", "csinodes"),
    _storage.namespaced("CSIStorageCapacity", "csistoragecapacities"),
    _storage.cluster("StorageClass", "storageclasses", "sc"),
    _storage.cluster("VolumeAttachment", "volumeattachments", subresources=_STATUS),
    _storage.cluster("VolumeAttributesClass", "volumeattributesclasses", "vac"),
    _admission.cluster("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", categories=_EXTENSIONS),
    _admission.cluster(
        "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", categories=_EXTENSIONS
    ),
    _extensions.cluster(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd crds",
        categories=_EXTENSIONS,
        subresources=_STATUS,
    ),
    _scheduling.cluster("PriorityClass", "priorityclasses", "pc"),
    _coordination.namespaced("Lease", "leases"),
    _node.cluster("RuntimeClass", "runtimeclasses"),
    _discovery.namespaced("EndpointSlice", "endpointslices"),
    _resource.cluster("DeviceClass", "deviceclasses"),
    _resource.cluster("DeviceTaintRule", "devicetaintrules", subresources=_STATUS),
    _resource.namespaced("ResourceClaim", "resourceclaims", subresources=_STATUS),
    _resource.namespaced("ResourceClaimTemplate", "resourceclaimtemplates"),
    _resource.cluster("ResourceSlice", "resourceslices"),
)


def built_in(release: Release = DEFAULT) -> ResourceTable:
    """A fresh table of what a release serves, to which CustomResourceDefinitions may add."""
    schemas = published(release)
    return ResourceTable(each for each in RESOURCES if schemas.definition_of(each.group, each.version, each.kind))
