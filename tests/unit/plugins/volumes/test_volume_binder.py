"""Reserve assumes volumes, PreBind writes them and waits until they are bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import BOUND, affinity, make_claim, make_class, make_volume, pod_claiming

from bayplan.framework import CycleState, PreBindPreFlight, Status
from bayplan.model import KubeObject, PersistentVolume, PersistentVolumeClaim, Pod
from bayplan.plugins.volumes._assume_cache import AssumeCache, AssumeError
from bayplan.plugins.volumes._volume_binder import bind_to
from bayplan.plugins.volumes.volume_binding import Attempt, VolumeBinding
from bayplan.testing import VirtualClock, make_node

SELECTED = "volume.kubernetes.io/selected-node"
HOST = "kubernetes.io/hostname"


class Server:
    """An API server that takes updates, and tells the watch about them when it is asked to."""

    def __init__(self, bench: Bench) -> None:
        self.requests: list[tuple[str, str, Any]] = []
        self.fails: dict[str, Exception] = {}
        self._bench = bench
        self._version = 100

    async def request(
        self, method: str, path: str, body: object | None = None, *, content_type: str | None = None
    ) -> dict[str, Any]:
        assert isinstance(body, dict)
        self.requests.append((method, path, body))
        if path in self.fails:
            raise self.fails[path]
        self._version += 1
        answer = {**body, "metadata": {**body["metadata"], "resourceVersion": str(self._version)}}
        kind = PersistentVolume if body["kind"] == "PersistentVolume" else PersistentVolumeClaim
        self._bench.objects.set(kind.from_dict(answer))
        return answer

    async def bind(self, pod: Pod, node_name: str) -> None:
        raise NotImplementedError


class Clock(VirtualClock):
    """Something happens while somebody sleeps: at the n-th look, `later[n]` is called."""

    def __init__(self) -> None:
        super().__init__()
        self.later: dict[int, Callable[[], None]] = {}
        self.n_sleeps = 0

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        self.n_sleeps += 1
        self.later.get(self.n_sleeps, lambda: None)()


class Stage:
    """A bench with the plugin, a pod that uses claims s (static) and d (dynamic), and a server."""

    def __init__(self, *claims: str, timeout: int = 600) -> None:
        self.bench = Bench([make_node("a"), make_node("b")])
        self.server, self.clock = Server(self.bench), Clock()
        self.bench.handle.client = cast("Any", self.server)
        self.bench.handle.clock = self.clock
        self.set(make_class("local"), make_class("dyn", provisioner="csi.example.com"))
        self.set(make_volume("v", size="5Gi", nodeAffinity=affinity(HOST, "a")), make_volume("w", size="9Gi"))
        self.set(make_claim("s"), make_claim("t"), make_claim("d", storage_class="dyn"))
        self.plugin = self.bench.plugin(VolumeBinding, {"bindTimeoutSeconds": timeout})
        self.pod = pod_claiming("p", *claims)
        self.state = CycleState()
        assert self.plugin.pre_filter(self.state, self.pod, self.bench.nodes).is_success

    def set(self, *objects: KubeObject) -> None:
        for each in objects:
            self.bench.objects.set(each)

    def claim(self, name: str) -> PersistentVolumeClaim:
        found = self.bench.objects.lister(PersistentVolumeClaim).get(name, "default")
        assert found is not None
        return found

    def bind_claim(self, name: str, volume: str, **annotations: str) -> None:
        """What the PV controller does."""
        notes = {**self.claim(name).annotations, **annotations, **BOUND}
        storage_class = self.claim(name).storage_class_name
        self.set(make_claim(name, volume=volume, annotations=notes, version="900", storage_class=storage_class))

    def choices(self, *claims: str, node: str = "a") -> list[str]:
        """Which volumes another pod with *claims* would be given on the node."""
        state, pod = CycleState(), pod_claiming("other", *claims)
        if not self.plugin.pre_filter(state, pod, self.bench.nodes).is_success:
            return ["rejected"]
        position = self.bench.nodes.position(node)
        assert position is not None
        found = self.plugin._finder.find(state.read("VolumeBinding", Attempt).claims, self.bench.nodes)
        return [volume.name for _, volume in found.bindings(position)]

    async def pre_bind(self) -> Status | None:
        return await self.plugin.pre_bind(self.state, self.pod, "a")


def test_assumed_volume_is_not_given_twice() -> None:
    """From Reserve on, until Unreserve, the volume is taken."""
    stage = Stage("s")
    assert stage.choices("t") == ["v"]
    assert stage.plugin.reserve(stage.state, stage.pod, "a") is None
    assert stage.choices("t") == ["w"]
    assert stage.plugin.pre_bind_pre_flight(stage.state, stage.pod, "a") == PreBindPreFlight(allow_parallel=True)
    stage.plugin.unreserve(stage.state, stage.pod, "a")
    assert stage.choices("t") == ["v"]
    stage.plugin.unreserve(stage.state, stage.pod, "a")


def test_assumed_claim_stays_on_its_node() -> None:
    """A second pod with a claim that is about to be provisioned must go to the same node."""
    stage = Stage("d")
    stage.plugin.reserve(stage.state, stage.pod, "a")
    other = pod_claiming("other", "d")
    assert list(stage.bench.rejections(stage.plugin, other)) == ["b"]
    stage.plugin.unreserve(stage.state, stage.pod, "a")
    assert stage.bench.rejections(stage.plugin, other) == {}


def test_nothing_is_reserved_for_bound_claims() -> None:
    stage = Stage("d")
    stage.set(make_volume("x", claim="d", storage_class="dyn"))
    stage.bind_claim("d", "x")
    stage.state = CycleState()
    stage.plugin.pre_filter(stage.state, stage.pod, stage.bench.nodes)
    assert stage.plugin.reserve(stage.state, stage.pod, "a") is None
    assert stage.plugin.pre_bind_pre_flight(stage.state, stage.pod, "a") == Status.skip()


def test_pre_bind_needs_reserve() -> None:
    stage = Stage("s")
    found = stage.plugin.pre_bind_pre_flight(stage.state, stage.pod, "a")
    assert found == Status.failed('no pod volume found for node "a"')


def test_a_newer_version_ends_the_assumption() -> None:
    stage = Stage("s")
    stage.plugin.reserve(stage.state, stage.pod, "a")
    stage.set(make_volume("v", size="5Gi", version="2"))
    assert stage.choices("t") == ["v"]
    stage.bench.objects.remove(make_volume("v"))
    assert stage.choices("t") == ["w"]


def test_only_the_current_version_can_be_assumed() -> None:
    bench = Bench()
    assumed = AssumeCache(bench.handle.informers, PersistentVolume)
    with pytest.raises(AssumeError, match='persistentvolumes "v" not found'):
        assumed.assume(make_volume("v"))
    bench.objects.set(make_volume("v", version="2"))
    with pytest.raises(AssumeError, match=r'"v" is out of sync \(stored: 2, assume: 1\)'):
        assumed.assume(make_volume("v"))


def test_failed_reserve_assumes_nothing() -> None:
    """A claim that changed since PreFilter cannot be assumed; the volume assumed before it is free again."""
    stage = Stage("s", "d")
    stage.set(make_claim("d", storage_class="dyn", version="2"))
    found = stage.plugin.reserve(stage.state, stage.pod, "a")
    assert found == Status.failed('"default/d" is out of sync (stored: 2, assume: 1)')
    assert stage.choices("t") == ["v"]
    assert stage.plugin.reserve(stage.state, stage.pod, "gone") == Status.failed('node "gone" not found')


@pytest.mark.parametrize(
    ("volume", "reference", "annotated"),
    [
        pytest.param(make_volume("v"), True, True, id="an open volume"),
        pytest.param(make_volume("v", claim="s"), True, False, id="one that names the claim without its uid"),
        pytest.param(make_volume("v", claim="s", claim_uid="claim-s"), False, False, id="one that is the claim's"),
    ],
)
def test_bind_to(volume: PersistentVolume, reference: bool, annotated: bool) -> None:
    """The volume names the claim with its uid; that a controller did it is noted unless a user had."""
    bound = bind_to(volume, make_claim("s", version="7"))
    assert (bound is not volume) is reference
    assert bound.annotations.get("pv.kubernetes.io/bound-by-controller") == ("yes" if annotated else None)
    assert bound.spec.claim_ref is not None
    assert bound.spec.claim_ref.uid == "claim-s"
    if reference:
        assert bound.raw["spec"]["claimRef"] == {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": "default",
            "name": "s",
            "uid": "claim-s",
            "resourceVersion": "7",
        }


@pytest.mark.asyncio
async def test_pre_bind_writes_and_waits() -> None:
    """Volumes are written first, then claims; the pod goes on when the PV controller has bound both claims."""
    stage = Stage("s", "d")
    stage.plugin.reserve(stage.state, stage.pod, "a")
    stage.set(make_volume("x", claim="d", storage_class="dyn"))
    stage.clock.later = {2: lambda: stage.bind_claim("s", "v"), 4: lambda: stage.bind_claim("d", "x")}
    assert await stage.pre_bind() is None
    assert stage.clock.n_sleeps == 4
    (put, path, volume), (put2, path2, claim) = stage.server.requests
    assert (put, path) == ("PUT", "/api/v1/persistentvolumes/v")
    assert volume["spec"]["claimRef"]["name"] == "s"
    assert (volume["apiVersion"], volume["kind"]) == ("v1", "PersistentVolume")
    assert (put2, path2) == ("PUT", "/api/v1/namespaces/default/persistentvolumeclaims/d")
    assert claim["metadata"]["annotations"] == {SELECTED: "a"}


@pytest.mark.asyncio
async def test_pre_bind_gives_up_after_the_timeout() -> None:
    stage = Stage("s", timeout=30)
    start = stage.clock.monotonic()
    stage.plugin.reserve(stage.state, stage.pod, "a")
    assert await stage.pre_bind() == Status.failed("binding volumes: context deadline exceeded")
    assert stage.clock.monotonic() - start == pytest.approx(30)


@pytest.mark.asyncio
async def test_refused_write_frees_what_was_not_sent() -> None:
    """What was written is in the cluster; the rest is no longer assumed."""
    stage = Stage("s", "t", "d")
    stage.plugin.reserve(stage.state, stage.pod, "a")
    stage.server.fails["/api/v1/persistentvolumes/w"] = RuntimeError("the object has been modified")
    assert await stage.pre_bind() == Status.failed("the object has been modified")
    stage.plugin.unreserve(stage.state, stage.pod, "a")
    assert len(stage.server.requests) == 2
    assert stage.choices("u-is-not-there") == ["rejected"]
    stage.set(make_claim("u"))
    assert stage.choices("u") == ["w"]
    assert stage.bench.rejections(stage.plugin, pod_claiming("other", "d")) == {}


@pytest.mark.parametrize(
    ("claims", "happens", "message"),
    [
        pytest.param(
            "s",
            lambda stage: stage.set(make_volume("v", version="900")),
            'ClaimRef got reset for pv "v"',
            id="the volume was freed",
        ),
        pytest.param(
            "s",
            lambda stage: stage.bench.objects.remove(make_volume("v")),
            'failed to check binding: persistentvolumes "v" not found',
            id="the volume is gone",
        ),
        pytest.param(
            "s",
            lambda stage: stage.bench.objects.remove(make_claim("s")),
            'failed to check binding: persistentvolumeclaims "default/s" not found',
            id="the claim is gone",
        ),
        pytest.param(
            "s",
            lambda stage: stage.set(
                make_volume("v", version="900", claim="s", claim_uid="u", nodeAffinity=affinity(HOST, "b"))
            ),
            'pv "v" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
            id="the volume is elsewhere now",
        ),
        pytest.param(
            "s",
            lambda stage: stage.bench.cache.remove_node("a"),
            'failed to get node "a": node "a" not found',
            id="the node is gone",
        ),
        pytest.param(
            "d",
            lambda stage: stage.set(make_claim("d", storage_class="dyn", version="900")),
            'selectedNode annotation reset for PVC "d"',
            id="no annotations left",
        ),
        pytest.param(
            "d",
            lambda stage: stage.set(
                make_claim("d", storage_class="dyn", version="900", annotations={"other": "note"})
            ),
            'provisioning failed for PVC "d"',
            id="the provisioner gave up",
        ),
        pytest.param(
            "d",
            lambda stage: stage.bench.objects.remove(make_claim("d")),
            'failed to check provisioning pvc: persistentvolumeclaims "default/d" not found',
            id="the claim to provision is gone",
        ),
    ],
)
@pytest.mark.asyncio
async def test_bindings_that_cannot_be(claims: str, happens: Callable[[Stage], None], message: str) -> None:
    """When it is plain that binding will not succeed, the pod is tried again at once."""
    stage = Stage(claims)
    stage.plugin.reserve(stage.state, stage.pod, "a")
    stage.clock.later = {2: lambda: happens(stage)}
    assert await stage.pre_bind() == Status.failed(f"binding volumes: {message}")
    assert stage.clock.n_sleeps == 2


@pytest.mark.asyncio
async def test_deleted_pod_is_not_waited_for() -> None:
    stage = Stage("s")
    stage.set(stage.pod)
    stage.plugin.reserve(stage.state, stage.pod, "a")
    stage.clock.later = {3: lambda: stage.bench.objects.remove(stage.pod)}
    expected = 'binding volumes: pod does not exist any more: pod "p" not found'
    assert await stage.pre_bind() == Status.failed(expected)


@pytest.mark.asyncio
async def test_provisioned_volume_may_come_after_its_claim() -> None:
    """The watch of volumes may lag behind the one of claims."""
    stage = Stage("d")
    stage.plugin.reserve(stage.state, stage.pod, "a")
    late = make_volume("x", claim="d", storage_class="dyn")
    stage.clock.later = {1: lambda: stage.bind_claim("d", "x"), 3: lambda: stage.set(late)}
    assert await stage.pre_bind() is None
    assert stage.clock.n_sleeps == 3


@pytest.mark.asyncio
async def test_old_versions_are_not_judged() -> None:
    """Until the watch has caught up with what was written, the objects say nothing."""
    stage = Stage("d", timeout=10)
    stage.plugin.reserve(stage.state, stage.pod, "a")
    stale = make_claim("d", storage_class="dyn")
    stage.clock.later = {1: lambda: stage.set(stale)}
    assert await stage.pre_bind() == Status.failed("binding volumes: context deadline exceeded")
