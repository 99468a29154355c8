"""What the rights of a deployment are for: a scenario for each, which sets the scene and tells how it ended."""

from __future__ import annotations

import time
from functools import cached_property
from itertools import count

from tests.e2e.api import ApiError, Object, eventually
from tests.e2e.certificates import Pair
from tests.e2e.control_plane import ControlPlane
from tests.e2e.deployed import Deployed, token_of
from tests.e2e.deployed import found as looked_up
from tests.e2e.objects import node, pod
from tests.e2e.request_audit import Asked, RequestAudit
from tests.e2e.seen import bound_to, condition, events

#: Of the role that every cluster has; the manifests bind it.
LOOK_UP = Asked("", "configmaps", "get")
#: The group of devices and claims; also the name of a class of all devices.
DEVICES = "resource.k8s.io"


class Case(Deployed):
    """A deployment, with a node that its pods go to."""

    def __init__(self, plane: ControlPlane, objects: list[Object], audit: RequestAudit) -> None:
        super().__init__(plane, objects)
        self.api, self._audit = plane.api, audit
        self.api.create(node(self.name, cpu="2", labels={"cpu": "true"}))

    def pod(self, name: str, *, on: str = "", **fields: object) -> Object:
        """One of ours that goes to our node, or to node *on*."""
        selector = {"kubernetes.io/hostname": on or self.name}
        return pod(f"{self.name}-{name}", scheduler=self.name, nodeSelector=selector, **fields)  # type: ignore[arg-type]

    @cached_property
    def reader(self) -> Pair:
        return self.plane.authority.client(self.name, user="reader", groups=["system:monitoring"])

    def is_bound(self, name: str) -> bool:
        return bound_to(self.api, f"{self.name}-{name}") is not None

    def asked(self) -> set[Asked]:
        return self._audit.asked(self.user)

    def refused(self) -> set[Asked]:
        return self._audit.refused(self.user)


# --- what the rights are for: `act` sets the scene, `is_done` tells whether it came to its end ---------------


class Scenario:
    def act(self, case: Case) -> None:
        """Nothing more than to run."""

    def is_done(self, case: Case) -> bool:
        raise NotImplementedError


class Reads(Scenario):
    """The cluster is read, and then watched."""

    def is_done(self, case: Case) -> bool:
        return case.is_ready()


class Binds(Scenario):
    def act(self, case: Case) -> None:
        case.api.create(case.pod("bound"))

    def is_done(self, case: Case) -> bool:
        return case.is_bound("bound")


class LooksUpLostBind(Scenario):
    """A bind that is answered with 500 may have happened all the same."""

    def act(self, case: Case) -> None:
        case.api.create(_namespace(case.name))
        case.api.create(_broken_webhook(case.name))
        case.api.create(pod("probe", namespace=case.name, scheduler="nobody"))
        eventually(lambda: _breaks_binds(case, case.name))
        case.api.create(case.pod("lost", namespace=case.name))

    def is_done(self, case: Case) -> bool:
        return Asked("", "pods", "get") in case.asked() - case.refused()


class TellsWhy(Scenario):
    def act(self, case: Case) -> None:
        case.api.create(case.pod("waiting", on="nowhere"))

    def is_done(self, case: Case) -> bool:
        return condition(case.api.get("Pod", f"{case.name}-waiting")) is not None


class Evicts(Scenario):
    def act(self, case: Case) -> None:
        other = f"{case.name}-full"
        case.api.create(node(other, cpu="1", labels={"cpu": "true"}))
        case.api.create(case.pod("victim", on=other, cpu="1"))
        eventually(lambda: case.is_bound("victim"))
        case.api.create(case.pod("urgent", on=other, cpu="1", priorityClassName="system-node-critical"))

    def is_done(self, case: Case) -> bool:
        victim = looked_up(lambda: case.api.get("Pod", f"{case.name}-victim"))
        return victim is None or "deletionTimestamp" in victim["metadata"]


class BindsVolumes(Scenario):
    """One claim has a volume waiting for it, another one waits for its provisioner."""

    def act(self, case: Case) -> None:
        for name, provisioner in (("static", "kubernetes.io/no-provisioner"), ("dynamic", "example.com/disks")):
            case.api.create(_storage_class(f"{case.name}-{name}", provisioner))
            case.api.create(_claim(f"{case.name}-{name}"))
        case.api.create(_volume(f"{case.name}-static", case.name))
        # The controller that would do so is not there.
        available = {"status": {"phase": "Available"}}
        case.api.patch("PersistentVolume", f"{case.name}-static", available, subresource="status")
        for name in ("static", "dynamic"):
            claim = {"persistentVolumeClaim": {"claimName": f"{case.name}-{name}"}}
            case.api.create(case.pod(name, volumes=[{"name": "data", **claim}]))

    def is_done(self, case: Case) -> bool:
        volume = case.api.get("PersistentVolume", f"{case.name}-static")
        claim = case.api.get("PersistentVolumeClaim", f"{case.name}-dynamic")
        selected = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")
        return "claimRef" in volume["spec"] and selected == case.name


class AllocatesDevices(Scenario):
    """A pod with a claim gets a device."""

    def act(self, case: Case) -> None:
        _publish_devices(case)
        case.api.create(_device_claim(f"{case.name}-device"))
        case.api.create(case.pod("device", **_claiming(f"{case.name}-device")))

    def is_done(self, case: Case) -> bool:
        claim = case.api.get("ResourceClaim", f"{case.name}-device")
        return case.is_bound("device") and "allocation" in claim["status"]


class MakesClaims(Scenario):
    """An extended resource that only devices provide: the claim is made for the pod."""

    def act(self, case: Case) -> None:
        _publish_devices(case)
        case.api.create(case.pod("extended", **_using(_resource_name(case))))

    def is_done(self, case: Case) -> bool:
        return case.is_bound("extended")


class GivesDevicesBack(Scenario):
    """A bind that fails: the reservation is taken back, a claim that was made for the pod is deleted."""

    def act(self, case: Case) -> None:
        name = f"{case.name}-back"
        _publish_devices(case)
        case.api.create(_namespace(name))
        case.api.create(_broken_webhook(name))
        case.api.create(pod("probe", namespace=name, scheduler="nobody"))
        eventually(lambda: _breaks_binds(case, name))
        case.api.create(_device_claim("device", namespace=name))
        case.api.create(case.pod("back", namespace=name, **_claiming("device")))
        case.api.create(case.pod("back-extended", namespace=name, **_using(_resource_name(case))))

    def is_done(self, case: Case) -> bool:
        given = {Asked(DEVICES, "resourceclaims/status", "patch"), Asked(DEVICES, "resourceclaims", "delete")}
        return given <= case.asked() - case.refused()


class ReadsClaimsAgain(Scenario):
    """A claim that somebody else changes all the time: after a conflict it is read again."""

    def __init__(self) -> None:
        self._numbers = count()

    def act(self, case: Case) -> None:
        _publish_devices(case)

    def is_done(self, case: Case) -> bool:
        name = f"busy-{next(self._numbers)}"
        case.api.create(_device_claim(f"{case.name}-{name}"))
        case.api.create(case.pod(name, **_claiming(f"{case.name}-{name}")))
        for i in range(100):
            case.api.patch("ResourceClaim", f"{case.name}-{name}", {"metadata": {"labels": {"i": str(i)}}})
        case.api.delete("Pod", f"{case.name}-{name}")
        return Asked(DEVICES, "resourceclaims", "get") in case.asked() - case.refused()


class TellsTwice(Scenario):
    """What is said again of the same version of a pod becomes a series."""

    def act(self, case: Case) -> None:
        case.api.create(node(f"{case.name}-other"))
        case.api.create(case.pod("told", on=f"{case.name}-other"))

    def is_done(self, case: Case) -> bool:
        # Any change of a label makes the plugin look again, once the backoff is over.
        labels = {"changed": str(time.monotonic_ns())}
        case.api.patch("Node", f"{case.name}-other", {"metadata": {"labels": labels}})
        return any("series" in each for each in events(case.api, f"{case.name}-told"))


class Leads(Scenario):
    def is_done(self, case: Case) -> bool:
        lease = looked_up(lambda: case.api.get("Lease", case.name, namespace="kube-system"))
        return lease is not None and bool(lease["spec"].get("holderIdentity"))


class TellsWhoLeads(Scenario):
    def is_done(self, case: Case) -> bool:
        told = case.api.list("v1/Event", namespace="kube-system")
        return any(each["involvedObject"]["name"] == case.name for each in told)


class ServesMetricsToAccounts(Scenario):
    """Prometheus shows a token."""

    def is_done(self, case: Case) -> bool:
        return case.status("/metrics", token=token_of(case.plane, "prometheus")) == 200


class ServesMetricsToCertificates(Scenario):
    """Somebody of the group that may read metrics shows a certificate."""

    def is_done(self, case: Case) -> bool:
        return case.status("/metrics", client=case.reader) == 200


#: Group, resource and verb that a rule begins with → what it is for. A rule that nobody needs is not here.
SERVED: dict[Asked, Scenario] = {
    Asked("", "pods/binding", "create"): Binds(),
    Asked("", "pods", "get"): LooksUpLostBind(),
    Asked("", "pods/status", "patch"): TellsWhy(),
    Asked("", "pods", "delete"): Evicts(),
    Asked("", "persistentvolumeclaims", "update"): BindsVolumes(),
    Asked(DEVICES, "resourceclaims", "create"): MakesClaims(),
    Asked(DEVICES, "resourceclaims", "get"): ReadsClaimsAgain(),
    Asked(DEVICES, "resourceclaims/binding", "patch"): AllocatesDevices(),
    Asked(DEVICES, "resourceclaims/status", "patch"): GivesDevicesBack(),
    Asked("events.k8s.io", "events", "create"): TellsTwice(),
    Asked("authentication.k8s.io", "tokenreviews", "create"): ServesMetricsToAccounts(),
    Asked("authorization.k8s.io", "subjectaccessreviews", "create"): ServesMetricsToAccounts(),
    Asked("coordination.k8s.io", "leases", "create"): Leads(),
    Asked("coordination.k8s.io", "leases", "get"): Leads(),
    Asked("", "events", "create"): TellsWhoLeads(),
    LOOK_UP: ServesMetricsToCertificates(),
}


# --- objects ----------------------------------------------------------------------------------------------


def _namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"binds": name}}}


def _broken_webhook(name: str) -> Object:
    """Binds in the namespace are answered with 500, because nobody listens there."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    webhook = {
        "name": "broken.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"binds": name}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


def _breaks_binds(case: Case, namespace: str) -> bool:
    """Whether the API server has heard of the webhook: asked with a dry run, as somebody who may bind."""
    target = {"apiVersion": "v1", "kind": "Node", "name": case.name}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "probe"}, "target": target}
    path = f"/api/v1/namespaces/{namespace}/pods/probe/binding"
    try:
        case.api.request("POST", path, binding, options={"dryRun": "All"})
    except ApiError as error:
        return error.status == 500
    return False


def _resource_name(case: Case) -> str:
    return f"example.com/{case.name}"


def _publish_devices(case: Case) -> None:
    """Devices on the case's node, with a class that is also an extended resource; once."""
    if looked_up(lambda: case.api.get("DeviceClass", DEVICES)) is None:
        case.api.create(_device_object("DeviceClass", DEVICES, {}))
    if looked_up(lambda: case.api.get("DeviceClass", case.name)) is None:
        spec: Object = {"extendedResourceName": _resource_name(case)}
        case.api.create(_device_object("DeviceClass", case.name, spec))
        devices = [{"name": f"d{i}"} for i in range(100)]
        pool = {"name": case.name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "example.com", "nodeName": case.name, "pool": pool, "devices": devices}
        case.api.create(_device_object("ResourceSlice", case.name, spec))


def _device_object(kind: str, name: str, spec: Object, **metadata: str) -> Object:
    return {"apiVersion": f"{DEVICES}/v1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


def _device_claim(name: str, namespace: str = "default") -> Object:
    """For one device of any kind."""
    request = {"name": "device", "exactly": {"deviceClassName": DEVICES}}
    return _device_object("ResourceClaim", name, {"devices": {"requests": [request]}}, namespace=namespace)


def _claiming(name: str) -> Object:
    """The fields of a pod with that claim."""
    return {"resourceClaims": [{"name": "device", "resourceClaimName": name}]}


def _using(resource: str) -> Object:
    """The fields of a pod that wants one of an extended resource."""
    return {"containers": [{"name": "main", "image": "pause", "resources": {"limits": {resource: "1"}}}]}


def _storage_class(name: str, provisioner: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _claim(name: str) -> Object:
    """Of the class of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "resources": {"requests": {"storage": "5Gi"}},
        },
    }


def _volume(name: str, node_name: str) -> Object:
    """Of the class of the same name, on the node."""
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_name]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
    }
