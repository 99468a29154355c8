"""Sets up the cluster for a phase: nodes, other objects, and pods that are already on nodes.

Nodes and placed pods stay from phase to phase; only the changes of a phase are reverted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec
from tests.e2e.processes import Process

from bench.e2e.api import Api, Call
from bench.e2e.devices import API
from bench.e2e.workload import LABEL, NAMESPACE, PLACED_NAMESPACE, Object, Workload

NODES = "/api/v1/nodes"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
EVENTS = f"/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
_PLACED = f"/api/v1/namespaces/{PLACED_NAMESPACE}/pods"
_PLACED_EVENTS = f"/apis/events.k8s.io/v1/namespaces/{PLACED_NAMESPACE}/events"
_CLAIMS = f"{API}/namespaces/{NAMESPACE}/resourceclaims"
_TAKEN = f"{API}/namespaces/{PLACED_NAMESPACE}/resourceclaims"
_COLLECTIONS = {
    "Service": f"/api/v1/namespaces/{NAMESPACE}/services",
    "PriorityClass": "/apis/scheduling.k8s.io/v1/priorityclasses",
    "DeviceClass": f"{API}/deviceclasses",
    "ResourceSlice": f"{API}/resourceslices",
    "ResourceClaimTemplate": f"{API}/namespaces/{NAMESPACE}/resourceclaimtemplates",
}
_MERGE_PATCH = "application/merge-patch+json"
#: Time for the API server to collect garbage before the next phase.
IDLE_SECONDS = 3.0
_POLL_SECONDS = 0.25
_CLAIMS_SECONDS = 300.0


class _Meta(msgspec.Struct):
    name: str
    labels: dict[str, str] = {}


class _Named(msgspec.Struct):
    metadata: _Meta


class _List(msgspec.Struct):
    items: list[_Named] | None = None


class _ClaimStatuses(msgspec.Struct, rename="camel"):
    resource_claim_statuses: list[msgspec.Raw] = []


class _WithClaims(msgspec.Struct):
    status: _ClaimStatuses


class _WithClaimsList(msgspec.Struct):
    items: list[_WithClaims] | None = None


class Scene:
    """See the module docstring."""

    def __init__(
        self, api: Api, start_controller: Callable[[], Process], *, idle_seconds: float = IDLE_SECONDS
    ) -> None:
        """*start_controller* starts the controller that makes claims from templates."""
        self._api = api
        self._start_controller = start_controller
        self._controller: Process | None = None
        self._idle_seconds = idle_seconds
        #: The workload and the size for which the other objects and the placed pods were created.
        self._of: tuple[Workload, int] | None = None

    async def open(self) -> None:
        """Create the namespaces, once."""
        await self._api.send_all(
            Call(
                "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            )
            for name in (NAMESPACE, PLACED_NAMESPACE)
        )

    async def prepare(self, workload: Workload, n_nodes: int) -> None:
        """Bring the cluster into the initial state of the workload, without its pods."""
        await self._api.delete_all(PODS)
        await self._api.delete_all(_CLAIMS)
        await self._api.delete_all(EVENTS)
        if self._of != (workload, n_nodes):
            await self._leave()
            self._of = (workload, n_nodes)
            await self._create_objects(workload, n_nodes)
        await self._mend_nodes(workload, n_nodes)
        await self._mend_placed(workload, n_nodes)

    async def await_claims(self, workload: Workload) -> None:
        """Wait until all pods have the claims that are made from templates."""
        if not workload.devices:
            return
        async with asyncio.timeout(_CLAIMS_SECONDS):
            while True:
                listed: _WithClaimsList = await self._api.get(PODS, _WithClaimsList)
                if all(pod.status.resource_claim_statuses for pod in listed.items or ()):
                    return
                await asyncio.sleep(_POLL_SECONDS)

    async def rest(self) -> None:
        await asyncio.sleep(self._idle_seconds)

    async def release(self, workload: Workload, n_nodes: int) -> None:
        """Make the change that lets the waiting pods be scheduled."""
        assert workload.release is not None
        await self._api.send_all(_release_calls(workload, n_nodes))

    async def _leave(self) -> None:
        if self._of is not None:
            workload, n_nodes = self._of
            gone = workload.all_objects(n_nodes)
            await self._api.send_all(
                (Call("DELETE", f"{_collection(each)}/{each['metadata']['name']}") for each in gone), fine=(404,)
            )
        if self._controller is not None:
            self._controller.stop()
            self._controller = None
        await self._api.delete_all(_TAKEN)
        await self._api.delete_all(_PLACED)
        await self._api.delete_all(_PLACED_EVENTS)

    async def _create_objects(self, workload: Workload, n_nodes: int) -> None:
        await self._api.send_all(Call("POST", _collection(each), each) for each in workload.all_objects(n_nodes))
        taken = workload.taken_claims(n_nodes)
        await self._api.send_all(Call("POST", _TAKEN, each) for each in taken)
        await self._api.send_all(
            Call("PUT", f"{_TAKEN}/{each['metadata']['name']}/status", each) for each in taken
        )
        if workload.devices:
            self._controller = self._start_controller()

    async def _mend_nodes(self, workload: Workload, n_nodes: int) -> None:
        there = await self._named(NODES)
        wanted = {each["metadata"]["name"]: each for each in map(workload.node, range(n_nodes))}
        await self._api.send_all(Call("POST", NODES, wanted[name]) for name in wanted if name not in there)
        await self._delete(NODES, there.keys() - wanted.keys())
        without = msgspec.json.encode({"metadata": {"labels": {LABEL: None}}})
        await self._api.send_all(
            Call("PATCH", f"{NODES}/{name}", without, _MERGE_PATCH)
            for name, each in there.items()
            if name in wanted and LABEL in each.metadata.labels
        )

    async def _mend_placed(self, workload: Workload, n_nodes: int) -> None:
        n_placed = workload.n_placed(n_nodes)
        if not n_placed:
            return
        there = await self._named(_PLACED)
        wanted = (workload.placed_pod(i, n_nodes) for i in range(n_placed))
        await self._api.send_all(
            Call("POST", _PLACED, each) for each in wanted if each["metadata"]["name"] not in there
        )
        await self._api.delete_all(_PLACED_EVENTS)

    async def _named(self, collection: str) -> dict[str, _Named]:
        listed: _List = await self._api.get(collection, _List)
        return {each.metadata.name: each for each in listed.items or ()}

    async def _delete(self, collection: str, names: Iterable[str]) -> None:
        await self._api.send_all((Call("DELETE", f"{collection}/{name}") for name in names), fine=(404,))


def _release_calls(workload: Workload, n_nodes: int) -> Iterable[Call]:
    release = workload.release
    assert release is not None
    at_once = {"gracePeriodSeconds": 0}
    for i in range(min(release.delete, workload.n_placed(n_nodes))):
        yield Call("DELETE", f"{_PLACED}/placed-{i:06d}", at_once)
    labelled = msgspec.json.encode({"metadata": {"labels": {LABEL: "open"}}})
    for i in range(min(release.label, n_nodes)):
        yield Call("PATCH", f"{NODES}/node-{i:05d}", labelled, _MERGE_PATCH)
    for i in range(release.add):
        yield Call("POST", NODES, workload.new_node(i))


def _collection(each: Object) -> str:
    if each["kind"] not in _COLLECTIONS:
        raise SystemExit(f"a workload's objects are of the kinds {', '.join(_COLLECTIONS)}, not {each['kind']}")
    return _COLLECTIONS[each["kind"]]
