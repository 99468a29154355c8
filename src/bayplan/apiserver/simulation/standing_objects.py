"""What every cluster has from the start: the Service of the API server, and a default StorageClass."""

from __future__ import annotations

import contextlib
import ipaddress
from typing import Any, Final
from urllib.parse import urlsplit

from bayplan.client import ConflictError, KubeClient, NotFoundError
from bayplan.controllers.api_objects import path_of

_DISCOVERY: Final = "discovery.k8s.io/v1"
_PORT: Final = {"name": "https", "port": 443, "protocol": "TCP"}
_LABELS: Final = {"component": "apiserver", "provider": "kubernetes"}
STORAGE_CLASS: Final = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "simulated.bayplan.dev",
    "volumeBindingMode": "WaitForFirstConsumer",
    "reclaimPolicy": "Delete",
}


async def make_cluster_objects(client: KubeClient, url: str | None) -> None:
    """Create what is missing; *url* is where the API server listens, if it does."""
    port = urlsplit(url).port if url else None
    await _create(client, path_of("v1", "services", "default"), _service(port or 6443))
    await _create(client, path_of("storage.k8s.io/v1", "storageclasses"), STORAGE_CLASS)
    address = _address(url)
    if address is not None:
        await _replace(client, path_of(_DISCOVERY, "endpointslices", "default"), _slice(address, port or 443))


async def _create(client: KubeClient, path: str, body: dict[str, Any]) -> None:
    try:
        await client.request("POST", path, body)
    except ConflictError:
        return  # It is there since the last start.


async def _replace(client: KubeClient, path: str, body: dict[str, Any]) -> None:
    """The address may be another than at the last start."""
    with contextlib.suppress(NotFoundError):
        await client.request("DELETE", f"{path}/{body['metadata']['name']}")
    await client.request("POST", path, body)


def _service(port: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": _LABELS},
        "spec": {"type": "ClusterIP", "ports": [{**_PORT, "targetPort": port}]},
    }


def _slice(address: str, port: int) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": "kubernetes"}
    return {
        "apiVersion": _DISCOVERY,
        "kind": "EndpointSlice",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "addressType": "IPv6" if ":" in address else "IPv4",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{**_PORT, "port": port}],
    }


def _address(url: str | None) -> str | None:
    """The address in *url*. EndpointSlices have no loopback addresses, and no names."""
    host = urlsplit(url).hostname if url else None
    try:
        found = ipaddress.ip_address(host or "")
    except ValueError:
        return None
    return None if found.is_loopback else str(found)
