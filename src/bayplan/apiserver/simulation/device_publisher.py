"""Publishes the devices of simulated nodes as the drivers on real nodes do: a ResourceSlice for each node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bayplan.apiserver.simulation.manifest_applier import ManifestError
from bayplan.apiserver.simulation.simulated_devices import RESOURCE, SimulatedDevices, devices_of_node
from bayplan.client import ApiError, ConflictError, KubeClient, NotFoundError
from bayplan.controllers.api_objects import Object, path_of
from bayplan.controllers.controller import Controller
from bayplan.framework import Clock
from bayplan.model import Node
from bayplan.watch.informers import InformerFactory

SLICES: Final = "resourceslices"


async def check_devices(client: KubeClient, devices: Sequence[SimulatedDevices]) -> None:
    """Ask the server whether it would take the devices; ManifestError if not."""
    for each in devices:
        for published in each.slices("node"):
            try:
                await client.request("POST", path_of(RESOURCE, SLICES), published, query={"dryRun": "All"})
            except ConflictError:
                continue
            except ApiError as error:
                raise ManifestError(f"devices {each.name}: {error}") from error


class DevicePublisher(Controller):
    """See the module docstring. A key is the name of a node."""

    name = "device-publisher"

    def __init__(
        self,
        client: KubeClient,
        informers: InformerFactory,
        clock: Clock,
        devices: Sequence[SimulatedDevices],
    ) -> None:
        self._devices = devices
        #: Node → the names of its slices.
        self.published: dict[str, set[str]] = {}
        super().__init__(client, informers, clock)

    def watch(self) -> None:
        self._nodes = self.nodes(self._node_changed)

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        node = new if new is not None else old
        if node is not None and (old is None or new is None or old.metadata.labels != new.metadata.labels):
            self.queue.add(node.name)

    async def reconcile(self, key: str) -> float | None:
        node = self._nodes.get(key)
        wanted = {} if node is None else self._slices(node)
        for name in self.published.get(key, set()) - wanted.keys():
            await self._withdraw(name)
        if node is None:
            self.published.pop(key, None)
            return None
        for each in wanted.values():
            await self._publish(each, node)
        self.published[key] = set(wanted)
        return None

    def _slices(self, node: Node) -> dict[str, Object]:
        devices = devices_of_node(self._devices, node.metadata.labels)
        slices = [published for each in devices for published in each.slices(node.name)]
        return {published["metadata"]["name"]: published for published in slices}

    async def _publish(self, published: Object, node: Node) -> None:
        owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid, "controller": True}
        body = {**published, "metadata": {**published["metadata"], "ownerReferences": [owner]}}
        try:
            await self.client.request("POST", path_of(RESOURCE, SLICES), body)
        except ConflictError:
            return  # It is there: from an earlier run, or changed by hand.

    async def _withdraw(self, name: str) -> None:
        try:
            await self.client.request("DELETE", path_of(RESOURCE, SLICES, "", name))
        except NotFoundError:
            return
