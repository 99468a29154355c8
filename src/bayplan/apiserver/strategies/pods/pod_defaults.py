"""Defaults of pods and pod templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.model.container_sums import sum_over_containers

#: Resources that a pod as a whole may request.
POD_LEVEL_RESOURCES = ("cpu", "memory")
_FILE_MODE = 0o644
#: Deprecated node labels, with the warning.
DEPRECATED_NODE_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")


def containers_of(spec: Object) -> Iterator[Object]:
    """Every container of a pod spec, init containers first."""
    for key in ("initContainers", "containers", "ephemeralContainers"):
        yield from (spec.get(key) or ())


def default_pod_spec(spec: Object) -> None:
    """The defaults of pods and templates alike."""
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    for container in containers_of(spec):
        _default_container(container)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    for constraint in spec.get("topologySpreadConstraints", ()):
        constraint.setdefault("maxSkew", 0)
    if "serviceAccountName" in spec:
        # The deprecated name of the field, which older clients still read.
        spec["serviceAccount"] = spec["serviceAccountName"]
    elif "serviceAccount" in spec:
        spec["serviceAccountName"] = spec["serviceAccount"]


def default_pod(spec: Object) -> None:
    """Defaults of pods only: requests that follow limits, service links."""
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            _default_requests(container.get("resources", {}))
    _default_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1


def _default_requests(resources: Object) -> None:
    limits = resources.get("limits")
    if limits:
        requests = resources.setdefault("requests", {})
        for name, amount in limits.items():
            requests.setdefault(name, amount)


def _default_host_ports(spec: Object) -> None:
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            for port in container.get("ports", ()):
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def _default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if _is_latest(container.get("image", "")) else "IfNotPresent"
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        _default_source(variable.get("valueFrom", {}))
    for probe in (container[key] for key in _PROBES if key in container):
        _default_probe(probe)
    for handler in container.get("lifecycle", {}).values():
        if isinstance(handler, dict):
            _default_http_get(handler)


def _default_source(source: Object) -> None:
    if "fieldRef" in source:
        source["fieldRef"].setdefault("apiVersion", "v1")


def _default_probe(probe: Object) -> None:
    for key, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(key):
            probe[key] = value
    _default_http_get(probe)
    if "grpc" in probe and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _default_http_get(handler: Object) -> None:
    request = handler.get("httpGet")
    if request is not None:
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")


def _default_volume(volume: Object) -> None:
    if len(volume) <= 1 and set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        if kind in volume:
            volume[kind].setdefault("defaultMode", _FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    if "image" in volume and not volume["image"].get("pullPolicy"):
        latest = _is_latest(volume["image"].get("reference", ""))
        volume["image"]["pullPolicy"] = "Always" if latest else "IfNotPresent"
    if "ephemeral" in volume:
        template = volume["ephemeral"].get("volumeClaimTemplate")
        if template is not None:
            template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    _default_disks(volume)
    for item in volume.get("downwardAPI", {}).get("items", ()):
        _default_source(item)
    for source in volume.get("projected", {}).get("sources") or []:
        _default_projection(source)


#: Defaults of some volume types.
DISK_DEFAULTS: dict[str, dict[str, Any]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def _default_disks(volume: Object) -> None:
    for kind, defaults in DISK_DEFAULTS.items():
        if kind in volume:
            for key, value in defaults.items():
                volume[kind].setdefault(key, value)


def _default_projection(source: Object) -> None:
    if "serviceAccountToken" in source:
        source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    for item in source.get("downwardAPI", {}).get("items", ()):
        _default_source(item)


def _is_latest(image: str) -> bool:
    """Whether an image has the tag `latest`, which is also the default without tag and digest."""
    if "@" in image:
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return bool(image) and (not colon or tag == "latest")


def _default_pod_resources(spec: Object) -> None:
    """Requests of the pod as a whole: the sum over containers, or the limits."""
    resources = spec.get("resources")
    if not resources:
        return
    _default_huge_page_limits(spec, resources)
    limits = resources.get("limits")
    if not limits:
        return
    requests = dict(resources.get("requests", {}))
    for name, amount in sum_over_containers(spec, "requests").items():
        if name in POD_LEVEL_RESOURCES:
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if _is_pod_level(name):
            requests.setdefault(name, amount)
    if requests:
        resources["requests"] = requests


def _default_huge_page_limits(spec: Object, resources: Object) -> None:
    if not resources.get("limits") and not resources.get("requests"):
        return
    limits = dict(resources.get("limits", {}))
    for name, amount in sum_over_containers(spec, "limits").items():
        if name.startswith("hugepages-") and name not in resources.get("requests", {}):
            limits.setdefault(name, amount)
    if limits:
        resources["limits"] = limits


def _is_pod_level(name: str) -> bool:
    return name in POD_LEVEL_RESOURCES or name.startswith("hugepages-")
