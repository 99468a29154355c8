"""The objects of a deployment, as dictionaries in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.deployment.permissions import AUTHENTICATION_READER, Rule, cluster_rules, lease_rules, namespace_rules

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore

Object = dict[str, Any]

RBAC_GROUP: Final = "rbac.authorization.k8s.io"
RBAC: Final = f"{RBAC_GROUP}/v1"
PORT: Final = 10259
FOLDER: Final = PurePosixPath("/etc/bayplan")
CONFIGURATION: Final = "scheduler.yaml"
#: An unprivileged user without a name; also used by the image.
USER_ID: Final = 65532


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a deployment."""

    image: str
    #: The text of the KubeSchedulerConfiguration.
    configuration: str
    #: Namespace and name of the Lease in the configuration; None: no leader election.
    lease: tuple[str, str] | None
    name: str = "bayplan-scheduler"
    namespace: str = "kube-system"
    replicas: int = 2
    #: File name → text.
    plugin_files: Mapping[str, str] = {}
    #: Plugins as `file.py:Class` of one of the files, or `module:Class` of the image.
    plugins: tuple[str, ...] = ()
    #: Whether the status of PodGroups and ElasticQuotas is updated too.
    controllers: bool = False
    #: Permissions for requests that the plugins themselves make.
    allowed: tuple[Rule, ...] = ()
    service_monitor: bool = False


def deployment_objects(options: Options, scheduler: SchedulerCore) -> list[Object]:
    """All objects; *scheduler*, built from the configuration, determines the permissions."""
    return [
        _object("v1", "ServiceAccount", options),
        *_permissions(options, scheduler),
        _configuration(options),
        _deployment(options),
        _budget(options),
        _service(options),
        *([_service_monitor(options)] if options.service_monitor else []),
    ]


def _object(api_version: str, kind: str, options: Options, *, namespaced: bool = True, **fields: Any) -> Object:
    meta: Object = {"name": options.name, "labels": _labels(options)}
    if namespaced:
        meta["namespace"] = options.namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **fields}


def _labels(options: Options) -> dict[str, str]:
    return {"app.kubernetes.io/name": "bayplan", "app.kubernetes.io/instance": options.name}


# --- permissions ------------------------------------------------------------------------------------------


def _permissions(options: Options, scheduler: SchedulerCore) -> list[Object]:
    rules = [*cluster_rules(scheduler, controllers=options.controllers), *options.allowed]
    return [
        _object(RBAC, "ClusterRole", options, namespaced=False, rules=_plain(rules)),
        _binding(options, "ClusterRole", options.name),
        *(_election_permissions(options, *options.lease) if options.lease is not None else []),
        *(
            each
            for namespace, watched in namespace_rules(scheduler).items()
            for each in _namespace_permissions(options, namespace, watched)
        ),
        # kube-system has this Role in every cluster: it gives access to the certificates that authenticate
        # clients.
        _binding(
            options,
            "Role",
            AUTHENTICATION_READER,
            namespace="kube-system",
            name=f"{options.name}-authentication-reader",
        ),
    ]


def _election_permissions(options: Options, namespace: str, name: str) -> list[Object]:
    role = _object(RBAC, "Role", options, rules=_plain(lease_rules(name)))
    role["metadata"]["namespace"] = namespace
    return [role, _binding(options, "Role", options.name, namespace=namespace)]


def _namespace_permissions(options: Options, namespace: str, rules: list[Rule]) -> list[Object]:
    """What plugins watch in one namespace."""
    name = f"{options.name}-plugins"
    role = _object(RBAC, "Role", options, rules=_plain(rules))
    role["metadata"] |= {"name": name, "namespace": namespace}
    return [role, _binding(options, "Role", name, namespace=namespace, name=name)]


def _binding(options: Options, role_kind: str, role: str, *, namespace: str = "", name: str = "") -> Object:
    """Binds the ServiceAccount to a role: in *namespace*, or in the whole cluster."""
    made = _object(
        RBAC,
        f"{role_kind}Binding",
        options,
        namespaced=False,
        roleRef={"apiGroup": RBAC_GROUP, "kind": role_kind, "name": role},
        subjects=[{"kind": "ServiceAccount", "name": options.name, "namespace": options.namespace}],
    )
    made["metadata"] |= {"name": name or options.name} | ({"namespace": namespace} if namespace else {})
    return made


def _plain(rules: list[Rule]) -> list[Object]:
    return [rule.to_dict() for rule in rules]


# --- workload ---------------------------------------------------------------------------------------------


def _configuration(options: Options) -> Object:
    files = {CONFIGURATION: options.configuration, **options.plugin_files}
    return _object("v1", "ConfigMap", options, data=files)


def _deployment(options: Options) -> Object:
    labels = _labels(options)
    spec = {
        "replicas": options.replicas,
        # Without leader election a new pod must not start before the old one has stopped.
        **({"strategy": {"type": "Recreate"}} if options.lease is None else {}),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": _pod_spec(options, labels)},
    }
    return _object("apps/v1", "Deployment", options, spec=spec)


def _pod_spec(options: Options, labels: dict[str, str]) -> Object:
    spread = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "serviceAccountName": options.name,
        "priorityClassName": "system-cluster-critical",
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": spread}]
            }
        },
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(options)],
        "volumes": [
            {"name": "configuration", "configMap": {"name": options.name}},
            # A generated certificate and its key are read from a file; this keeps them off the disk.
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        ],
    }


def _container(options: Options) -> Object:
    return {
        "name": "scheduler",
        "image": options.image,
        "args": [
            "run",
            f"--config={FOLDER / CONFIGURATION}",
            # Probes and Prometheus come from outside the pod.
            "--bind-address=0.0.0.0",
            f"--secure-port={PORT}",
            "--v=2",
            *(["--controllers"] if options.controllers else []),
            *(f"--plugin={_in_container(plugin)}" for plugin in options.plugins),
        ],
        "ports": [{"name": "https", "containerPort": PORT}],
        "livenessProbe": _probe("/livez", period_seconds=10, failures=3),
        "readinessProbe": _probe("/readyz", period_seconds=5, failures=3),
        "startupProbe": _probe("/livez", period_seconds=2, failures=60),
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "configuration", "mountPath": str(FOLDER), "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108  of the container
        ],
    }


def _in_container(plugin: str) -> str:
    return str(FOLDER / plugin) if ".py:" in plugin else plugin


def _probe(path: str, *, period_seconds: int, failures: int) -> Object:
    get = {"path": path, "port": "https", "scheme": "HTTPS"}
    return {"httpGet": get, "periodSeconds": period_seconds, "failureThreshold": failures}


def _budget(options: Options) -> Object:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": _labels(options)}}
    return _object("policy/v1", "PodDisruptionBudget", options, spec=spec)


# --- metrics ----------------------------------------------------------------------------------------------


def _service(options: Options) -> Object:
    ports = [{"name": "https", "port": PORT, "targetPort": "https"}]
    return _object("v1", "Service", options, spec={"selector": _labels(options), "ports": ports})


def _service_monitor(options: Options) -> Object:
    endpoint = {
        "port": "https",
        "scheme": "https",
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        # The certificate is self-signed unless --tls-cert-file is given.
        "tlsConfig": {"insecureSkipVerify": True},
    }
    spec = {"selector": {"matchLabels": _labels(options)}, "endpoints": [endpoint]}
    return _object("monitoring.coreos.com/v1", "ServiceMonitor", options, spec=spec)
