"""EndpointSlices: the addresses of the pods that a Service selects."""

from __future__ import annotations

from typing import Final

from bayplan.client import ConflictError, NotFoundError
from bayplan.controllers.api_objects import Object, is_being_deleted, key_of, owner_reference, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView
from bayplan.controllers.services.endpoint_packing import pack_endpoints
from bayplan.controllers.template_hash import template_hash
from bayplan.model import Node

DISCOVERY: Final = "discovery.k8s.io/v1"
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslice-controller.k8s.io"
HEADLESS: Final = "service.kubernetes.io/headless"
ZONE: Final = "topology.kubernetes.io/zone"
#: Changes of pods are gathered this long, and longer the more pods and services there are: every slice of a
#: Service is compared each time, which takes about a twentieth of this.
_GATHER_SECONDS: Final = 0.5
_GATHER_SECONDS_EACH: Final = 2e-4


class EndpointSliceController(Controller):
    """See the module docstring. A key is that of a Service."""

    name = "endpoint-slice-controller"

    def watch(self) -> None:
        self._services = self.objects("v1", "services")
        #: Key of a slice → the version that was written last: its event is no news.
        self._written: dict[str, str] = {}
        self._slices = self._informers.custom(DISCOVERY, "endpointslices")
        self._slices.add(self._slice_changed)
        self._nodes = self.nodes()
        self._pods = self.pods(self._pod_changed)

    def _slice_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None and self._is_written(new):
            return
        if new is None and old is not None:
            self._written.pop(key_of(old), None)
        for each in (old, new):
            if each is not None and (key := _service_key(each)) is not None:
                self.queue.add(key)

    def _is_written(self, endpoint_slice: Object) -> bool:
        """Whether it is as it was written last."""
        version: str = endpoint_slice["metadata"]["resourceVersion"]
        return self._written.get(key_of(endpoint_slice)) == version

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if old is not None and new is not None and _facts(old) == _facts(new):
            return
        pods = [pod for pod in (old, new) if pod is not None]
        services = self._services.list(pods[0].namespace)
        for service in services:
            if any(_selects(service, pod) for pod in pods):
                each = _GATHER_SECONDS_EACH * len(services) * len(self._pods)
                self.queue.add_after(key_of(service), _GATHER_SECONDS + each)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        service = self._services.get(name, namespace)
        known = {each["metadata"]["name"]: each for each in self._slices.list(namespace) if _is_of(each, name)}
        wanted = self._wanted(service, known) if service is not None and not is_being_deleted(service) else {}
        for slice_name, body in wanted.items():
            await self._write(namespace, body, known.get(slice_name))
        for slice_name in known.keys() - wanted.keys():
            await self._delete(namespace, slice_name)
        return None

    def _wanted(self, service: Object, known: dict[str, Object]) -> dict[str, Object]:
        """The slices of a Service by name; *known* are those that there are."""
        if not service["spec"].get("selector") or service["spec"].get("type") == "ExternalName":
            return {}
        meta = service["metadata"]
        pods = {pod.uid: pod for pod in self._pods.list(meta["namespace"]) if _selects(service, pod)}
        packed = pack_endpoints(
            {name: [_uid_of(each) for each in body.get("endpoints") or ()] for name, body in known.items()},
            pods,
            lambda number: _slice_name(meta, number),
        )
        return {name: self._slice(service, name, [pods[uid] for uid in uids]) for name, uids in packed.items()}

    def _slice(self, service: Object, name: str, pods: list[PodView]) -> Object:
        meta = service["metadata"]
        labels = {**(meta.get("labels") or {}), SERVICE_NAME: meta["name"], MANAGED_BY: MANAGER}
        if service["spec"].get("clusterIP") == "None":
            labels[HEADLESS] = ""
        return {
            "apiVersion": DISCOVERY,
            "kind": "EndpointSlice",
            "metadata": {
                "name": name,
                "namespace": meta["namespace"],
                "labels": labels,
                "ownerReferences": [owner_reference(service, "v1", "Service")],
            },
            "addressType": "IPv4",
            "endpoints": [_endpoint(pod, self._nodes.get(pod.spec.node_name), service) for pod in pods],
            "ports": [_port(port, pods) for port in service["spec"].get("ports") or []],
        }

    async def _write(self, namespace: str, body: Object, known: Object | None) -> None:
        path = path_of(DISCOVERY, "endpointslices", namespace)
        if known is None:
            try:
                self._remember(await self.client.request("POST", path, body))
            except ConflictError:
                # Created before; the watch will deliver it, and then it is compared.
                self._written.pop(f"{namespace}/{body['metadata']['name']}", None)
        elif not self._is_written(known) or any(
            (known.get(field) or []) != body[field] for field in ("endpoints", "ports")
        ):
            patch = {"endpoints": body["endpoints"], "ports": body["ports"]}
            name = known["metadata"]["name"]
            self._remember(await self.client.request("PATCH", f"{path}/{name}", patch))

    def _remember(self, written: Object) -> None:
        self._written[key_of(written)] = written["metadata"]["resourceVersion"]

    async def _delete(self, namespace: str, name: str) -> None:
        try:
            await self.client.request("DELETE", path_of(DISCOVERY, "endpointslices", namespace, name))
        except NotFoundError:
            return


def _slice_name(service_meta: Object, number: int) -> str:
    suffix = template_hash({"service": service_meta["uid"], "number": number})[:5]
    return f"{service_meta['name']}-{suffix}"


def _uid_of(endpoint: Object) -> str:
    return str((endpoint.get("targetRef") or {}).get("uid", ""))


def _selects(service: Object, pod: PodView) -> bool:
    selector = service["spec"].get("selector") or {}
    here = pod.namespace == service["metadata"]["namespace"]
    return bool(
        selector
        and here
        and pod.status.pod_ip
        and not pod.has_ended
        and selector.items() <= pod.metadata.labels.items()
    )


def _facts(pod: PodView) -> object:
    """What an endpoint says of a pod."""
    return pod.metadata.labels, pod.status.pod_ip, pod.is_ready, pod.is_deleted, pod.has_ended


def _endpoint(pod: PodView, node: Node | None, service: Object) -> Object:
    serves = pod.is_ready or bool(service["spec"].get("publishNotReadyAddresses"))
    target = {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    endpoint: Object = {
        "addresses": [pod.status.pod_ip],
        "conditions": {"ready": serves and not pod.is_deleted, "serving": serves, "terminating": pod.is_deleted},
        "targetRef": target,
    }
    if pod.spec.node_name:
        endpoint["nodeName"] = pod.spec.node_name
    if node is not None and ZONE in node.labels:
        endpoint["zone"] = node.labels[ZONE]
    return endpoint


def _port(port: Object, pods: list[PodView]) -> Object:
    target = port.get("targetPort", port["port"])
    if isinstance(target, str):
        ports = (each for pod in pods for container in pod.spec.containers for each in container.ports)
        target = next((each.container_port for each in ports if each.name == target), port["port"])
    return {"name": port.get("name", ""), "protocol": port.get("protocol", "TCP"), "port": target}


def _is_of(endpoint_slice: Object, service: str) -> bool:
    labels = endpoint_slice["metadata"].get("labels") or {}
    return bool(labels.get(SERVICE_NAME) == service and labels.get(MANAGED_BY) == MANAGER)


def _service_key(endpoint_slice: Object) -> str | None:
    labels = endpoint_slice["metadata"].get("labels") or {}
    if labels.get(MANAGED_BY) != MANAGER or SERVICE_NAME not in labels:
        return None
    return f"{endpoint_slice['metadata']['namespace']}/{labels[SERVICE_NAME]}"
