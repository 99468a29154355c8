"""DynamicResources on a stage: a cluster with devices, one pod, and a server that stores claims."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tests.unit.plugins.bench import Bench

from bayplan.apiserver import protobuf
from bayplan.client import ApiError
from bayplan.core.messages import StartWork
from bayplan.framework import CycleState, Status
from bayplan.model import KubeObject, Node, Pod, ResourceClaim
from bayplan.plugins.devices.dynamic_resources import DynamicResources
from bayplan.release import DEFAULT
from bayplan.testing import VirtualClock, make_pod


class SteppingClock(VirtualClock):
    """Time passes while somebody sleeps; when it has, *later* happens."""

    def __init__(self) -> None:
        super().__init__()
        self.later: Callable[[], None] = lambda: None

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        self.later()


class ClaimServer:
    """Answers as the API server would, remembers what was asked, and tells the watch at once."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._versions = itertools.count(100)
        self.requests: list[tuple[str, str]] = []
        self.bodies: list[Any] = []
        #: What a claim is in protobuf.
        self.stored = b""
        #: Called before the next requests are answered, one for each.
        self.before: list[Callable[[], None]] = []

    async def bind(self, pod: Pod, node_name: str) -> None:
        raise NotImplementedError("only claims are written")

    async def request(
        self, method: str, path: str, body: object | None = None, *, content_type: str | None = None
    ) -> dict[str, Any]:
        self.requests.append((method, path.rpartition("/namespaces/")[2]))
        self.bodies.append(body)
        if self.before:
            self.before.pop(0)()
        if method == "PATCH":
            return {}
        if method in ("GET", "DELETE"):
            found = self._bench.objects.lister(ResourceClaim).get(path.rpartition("/")[2], "default")
            assert found is not None
            return dict(found.raw)
        assert isinstance(body, dict | bytes)
        return self.store(protobuf.decode(body) if isinstance(body, bytes) else body)

    async def get_protobuf(self, path: str) -> bytes:
        self.requests.append(("GET", "protobuf"))
        if not self.stored:
            raise ApiError(406)
        return self.stored

    def store(self, body: Mapping[str, Any]) -> dict[str, Any]:
        version = next(self._versions)
        generated = f"{body['metadata'].get('generateName', '')}{version}"
        metadata = {
            "name": generated,
            "uid": f"uid-{version}",
            **body["metadata"],
            "resourceVersion": str(version),
        }
        stored = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", **body, "metadata": metadata}
        self._bench.objects.set(ResourceClaim.from_dict(stored))
        return stored


class ClaimStage:
    """A bench with the plugin and a server; asks the plugin as the runner would."""

    def __init__(self, *objects: KubeObject, nodes: list[Node], release: str = DEFAULT.minor) -> None:
        self.bench = Bench(nodes, release=release)
        self.server, self.clock = ClaimServer(self.bench), SteppingClock()
        self.bench.give(client=self.server, clock=self.clock)
        self.plugin = self.bench.plugin(DynamicResources)
        for each in objects:
            self.bench.objects.set(each)

    def rejections(self, pod: Pod, state: CycleState | None = None) -> dict[str, Status | None]:
        """Node → why it is rejected; PreFilter must succeed."""
        state = CycleState() if state is None else state
        answer = self.plugin.pre_filter(state, pod, self.bench.nodes)
        assert answer is None or answer.is_success, answer
        verdict = self.plugin.filter_nodes(state, pod, self.bench.nodes)
        names = self.bench.nodes.names
        found = {names[i]: verdict.status(i) for i in np.flatnonzero(verdict.rejected).tolist()}
        return {name: status for name, status in found.items() if status is not None}

    def reserve(self, pod: Pod, node_name: str) -> CycleState:
        """PreFilter, Filter and Reserve, which must succeed."""
        state = CycleState()
        assert node_name not in self.rejections(pod, state)
        assert self.plugin.reserve(state, pod, node_name) is None
        return state

    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        return asyncio.run(self.plugin.pre_bind(state, pod, node_name))

    def carry_out(self) -> None:
        """What the plugin wants to be written beside the binding cycles."""
        for instruction in self.bench.core.take_instructions():
            if isinstance(instruction, StartWork):
                asyncio.run(instruction.work())

    def claim(self, name: str) -> ResourceClaim:
        found = self.bench.objects.lister(ResourceClaim).get(name, "default")
        assert found is not None
        return found


def pod_claiming(*claims: str, name: str = "p", **status: Any) -> Pod:
    """A pod that names claims of the cluster."""
    named = [{"name": each, "resourceClaimName": each} for each in claims]
    return make_pod(name, spec={"resourceClaims": named}, status=status)


def pod_with_template(made: list[dict[str, Any]] | None = None) -> Pod:
    """A pod with one claim from a template; *made* is what the claim controller has written."""
    claim = {"name": "c", "resourceClaimTemplateName": "template"}
    return make_pod("p", spec={"resourceClaims": [claim]}, status={"resourceClaimStatuses": made or []})
