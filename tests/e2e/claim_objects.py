"""Devices, and claims for them, as plain dictionaries."""

from __future__ import annotations

from typing import Any

from tests.e2e.api import Api, Object
from tests.e2e.objects import pod

API_VERSION = "resource.k8s.io/v1"
GPU = "gpu.example.com"
NIC = "nic.example.com"
#: On a claim that was made from a template: the name that the pod has for it.
_POD_CLAIM = "resource.kubernetes.io/pod-claim-name"


def device_class(driver: str) -> Object:
    """All devices of a driver; the class is named after the first part of its name."""
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    return _cluster_object("DeviceClass", driver.partition(".")[0], {"selectors": [selector]})


def resource_slice(
    name: str, *devices: Object, driver: str = GPU, pool: str = "", n_slices: int = 1, **spec: Any
) -> Object:
    """A slice of a pool, which is named after it unless *pool* says otherwise; *spec* says where it is."""
    whole = {"name": pool or name, "generation": 1, "resourceSliceCount": n_slices}
    listed = {"devices": list(devices)} if devices else {}
    return _cluster_object("ResourceSlice", name, {"driver": driver, "pool": whole, **listed, **spec})


def gpus_of(node_name: str, n_devices: int = 4) -> Object:
    """A slice with GPUs of one node, half of them on either socket."""
    devices = [
        {
            "name": f"gpu-{i}",
            "attributes": {"index": {"int": i}, "numa": {"int": 2 * i // n_devices}},
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for i in range(n_devices)
    ]
    return resource_slice(node_name, *devices, nodeName=node_name)


def request(name: str, class_name: str = "gpu", **fields: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": class_name, **fields}}


def claim(name: str, *requests: Object, **devices: Any) -> Object:
    body = {"devices": {"requests": list(requests or [request("r")]), **devices}}
    return {**_typed("ResourceClaim", name), "spec": body}


def template(name: str, *requests: Object, **devices: Any) -> Object:
    """A template of claims like `claim`."""
    return {**_typed("ResourceClaimTemplate", name), "spec": {"spec": claim(name, *requests, **devices)["spec"]}}


def pod_with_claim(name: str, source: Object, *, on: str = "", **fields: Any) -> Object:
    """A pod with one claim, given as a claim or template; with *on* it must be on that node."""
    field = "resourceClaimName" if source["kind"] == "ResourceClaim" else "resourceClaimTemplateName"
    claims = [{"name": "devices", field: source["metadata"]["name"]}]
    place: Object = {"nodeSelector": {"kubernetes.io/hostname": on}} if on else {}
    body = pod(name, resourceClaims=claims, **place, **fields)
    body["spec"]["containers"][0]["resources"]["claims"] = [{"name": "devices"}]
    return body


# --- what became of them ----------------------------------------------------------------------------------


def devices_of(claimed: Object) -> list[str]:
    """Pool and device of everything that the claim has."""
    allocation = claimed.get("status", {}).get("allocation") or {"devices": {}}
    return [f"{each['pool']}/{each['device']}" for each in allocation["devices"].get("results", ())]


def all_devices(api: Api) -> list[str]:
    """Everything that any claim has, sorted; twice if two have it."""
    return sorted(device for each in api.list("ResourceClaim") for device in devices_of(each))


def seen_claims(api: Api) -> dict[str, Object]:
    """The claims as far as they are the same whoever schedules; those from templates by the name of their pod."""
    return {_steady_name(each): _steady_claim(each) for each in api.list("ResourceClaim")}


def _steady_name(claimed: Object) -> str:
    metadata = claimed["metadata"]
    if _POD_CLAIM not in metadata.get("annotations", {}):
        return str(metadata["name"])
    return f"{metadata['ownerReferences'][0]['name']}'s {metadata['annotations'][_POD_CLAIM]}"


def _steady_claim(claimed: Object) -> Object:
    status = claimed.get("status", {})
    allocation = dict(status.get("allocation", {}))
    allocation.pop("allocationTimestamp", None)
    for result in allocation.get("devices", {}).get("results", ()):
        result.pop("shareID", None)
    return {
        "finalizers": claimed["metadata"].get("finalizers", []),
        "allocation": allocation,
        "reservedFor": sorted(each["name"] for each in status.get("reservedFor", ())),
    }


def _cluster_object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _typed(kind: str, name: str) -> Object:
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, "namespace": "default"}}
