"""Pods without claims pass as in kube-scheduler; claims are not allocated yet, and that is said."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Code, CycleState, Hint, Status, check_class
from bayplan.model import Pod
from bayplan.plugins.dynamic_resources import REASON_CLAIMS, DynamicResources
from bayplan.testing import make_node, make_pod

GPU = "example.com/gpu"
BY_NAME = {"name": "c", "resourceClaimName": "mine"}
BY_TEMPLATE = {"name": "c", "resourceClaimTemplateName": "template"}


def pod_with(*claims: dict[str, Any], statuses: list[dict[str, Any]] | None = None) -> Pod:
    return make_pod("p", spec={"resourceClaims": list(claims)}, status={"resourceClaimStatuses": statuses or []})


def test_it_is_on_the_points_of_kube_scheduler() -> None:
    """Profiles show the plugin where kube-scheduler's has it, though it has little to do there yet."""
    assert check_class(DynamicResources) == (
        "preEnqueue",
        "preFilter",
        "filter",
        "postFilter",
        "score",
        "reserve",
        "preBind",
    )


def test_pod_without_claims() -> None:
    """Filter is skipped, Score gives 0 to all, PostFilter has nothing to give back."""
    bench = Bench([make_node("a"), make_node("b")])
    plugin, pod, state = bench.plugin(DynamicResources), make_pod("p", cpu="1"), CycleState()
    assert plugin.pre_enqueue(pod) is None  # type: ignore[func-returns-value]
    assert bench.pre_filter(plugin, pod, state).is_skip
    assert plugin.post_filter(state, pod, None) == Status.unschedulable("no new claims to deallocate")  # type: ignore[arg-type]
    scores = plugin.score_nodes(state, pod, bench.nodes)
    assert not isinstance(scores, Status)
    assert scores.tolist() == [0, 0]
    assert plugin.pre_bind_pre_flight(state, pod, "a").is_skip
    assert plugin.sign(pod) is not None


def test_attempt_that_ended_before_its_pre_filter() -> None:
    """kube-scheduler then finds no state in PostFilter, and says no more than that."""
    plugin = Bench().plugin(DynamicResources)
    status = plugin.post_filter(CycleState(), make_pod("p"), None)  # type: ignore[arg-type]
    assert (status.code, status.message) == (Code.ERROR, "not found")


@pytest.mark.parametrize(
    ("pod", "refused"),
    [
        pytest.param(pod_with(BY_NAME), True, id="a claim by name"),
        pytest.param(pod_with(BY_TEMPLATE), True, id="a claim not made yet"),
        pytest.param(
            pod_with(BY_TEMPLATE, statuses=[{"name": "c", "resourceClaimName": "made"}]), True, id="a claim made"
        ),
        pytest.param(pod_with(BY_TEMPLATE, statuses=[{"name": "c"}]), False, id="none was needed"),
    ],
)
def test_pod_with_claims(pod: Pod, refused: bool) -> None:
    """The whole pod is refused, and the reason names Bayplan, not the cluster."""
    bench = Bench([make_node("a")])
    plugin, state = bench.plugin(DynamicResources), CycleState()
    status = bench.pre_filter(plugin, pod, state)
    assert status == (Status.unresolvable(REASON_CLAIMS) if refused else Status.skip())
    assert plugin.post_filter(state, pod, None) == Status.unschedulable("no new claims to deallocate")  # type: ignore[arg-type]
    assert plugin.sign(pod) is None


def test_resource_that_only_devices_provide() -> None:
    """A node that offers the resource itself will do; another would have to allocate devices."""
    bench = Bench([make_node("offers", resources={GPU: "1"}), make_node("without")])
    plugin, pod = bench.plugin(DynamicResources), make_pod("p", requests={GPU: "1"})
    assert bench.rejections(plugin, pod) == {}
    before = plugin.sign(pod)
    classes = bench.objects.custom("resource.k8s.io/v1", "deviceclasses")
    classes.set("", "gpus", {"metadata": {"name": "gpus"}, "spec": {"extendedResourceName": GPU}})
    reason = f"node(s) could provide {GPU} through devices only, which Bayplan does not allocate yet"
    assert bench.rejections(plugin, pod) == {"without": Status.unresolvable(reason)}
    assert plugin.sign(pod) != before
    state = CycleState()
    bench.pre_filter(plugin, pod, state)
    assert plugin.post_filter(state, pod, None) == Status.unschedulable("still not schedulable")  # type: ignore[arg-type]


def claim(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default"}, "status": status}


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, claim("mine"), Hint.QUEUE, id="the pod's claim appears"),
        pytest.param(None, claim("other"), Hint.SKIP, id="another claim appears"),
        pytest.param(claim("mine"), claim("mine"), Hint.SKIP, id="the pod's claim, status as before"),
        pytest.param(
            claim("mine"), claim("mine", allocation={"x": 1}), Hint.QUEUE, id="the pod's claim is allocated"
        ),
        pytest.param(claim("other", allocation={"x": 1}), claim("other"), Hint.QUEUE, id="another is deallocated"),
    ],
)
def test_hint_for_claims(old: dict[str, Any] | None, new: dict[str, Any], hint: Hint) -> None:
    """The pod's own claim helps when its status changes, any claim when it gives its devices back."""
    _, on_claim, *_ = Bench().plugin(DynamicResources).events_to_register()
    assert on_claim.hint is not None
    assert on_claim.hint(pod_with(BY_NAME), old, new) is hint


def test_hint_for_pods() -> None:
    on_pod = Bench().plugin(DynamicResources).events_to_register()[2]
    pod = pod_with(BY_TEMPLATE)
    assert on_pod.hint is not None
    assert on_pod.hint(pod, pod, pod) is Hint.QUEUE
    assert on_pod.hint(pod, pod, make_pod("other")) is Hint.SKIP
