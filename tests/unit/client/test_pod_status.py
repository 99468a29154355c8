"""Patches of a pod's status."""

from typing import cast

import pytest
from tests.unit.client.doubles import LoopClock, ScriptedTransport

from bayplan.client import KubeClient
from bayplan.client.errors import ApiError, ConflictError, NotFoundError
from bayplan.client.pod_status import status_patch
from bayplan.client.transport import STRATEGIC_PATCH, Transport
from bayplan.model import Condition, Pod

OLD = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "no",
    "lastProbeTime": None,
}
META = {"name": "p", "namespace": "ns", "uid": "u1"}
FRESH = Pod.from_dict({"metadata": META})
FAILED = Pod.from_dict(
    {
        "metadata": META,
        "status": {
            "conditions": [{**OLD, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "nominatedNodeName": "a",
        },
    }
)
UNSCHEDULABLE = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
NOW = 1_800_000_000.0


def test_new_condition_is_written_whole() -> None:
    patch = status_patch(
        FRESH, condition=Condition(type="PodScheduled", status="False", reason="R", observed_generation=2), now=NOW
    )
    assert patch == {
        "metadata": {"uid": "u1"},
        "status": {
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "R",
                    "message": None,
                    "lastProbeTime": None,
                    "lastTransitionTime": "2027-01-15T08:00:00Z",
                    "observedGeneration": 2,
                }
            ],
            "$setElementOrder/conditions": [{"type": "PodScheduled"}],
        },
    }


def test_equal_condition_needs_no_patch() -> None:
    assert status_patch(FAILED, condition=UNSCHEDULABLE, nominated_node_name="a", now=NOW) is None
    assert status_patch(FAILED, condition=UNSCHEDULABLE, now=NOW) is None


def test_other_message_keeps_the_time() -> None:
    other = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="still no")
    patch = status_patch(FAILED, condition=other, now=NOW)
    assert patch is not None
    assert patch["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_conditions_keep_their_order() -> None:
    patch = status_patch(FAILED, condition=Condition(type="DisruptionTarget", status="True"), now=NOW)
    assert patch is not None
    order = patch["status"]["$setElementOrder/conditions"]
    assert order == [{"type": "PodScheduled"}, {"type": "DisruptionTarget"}]


@pytest.mark.parametrize(("asked", "written"), [("", None), ("b", "b")], ids=["withdrawn", "another node"])
def test_nomination_alone(asked: str, written: str | None) -> None:
    patch = status_patch(FAILED, condition=UNSCHEDULABLE, nominated_node_name=asked, now=NOW)
    assert patch == {"metadata": {"uid": "u1"}, "status": {"nominatedNodeName": written}}


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_client_patches_the_status_subresource() -> None:
    transport = ScriptedTransport()
    client = KubeClient(cast("Transport", transport), LoopClock())
    assert await client.patch_pod_status(FRESH, condition=UNSCHEDULABLE)
    assert not await client.patch_pod_status(FAILED, condition=UNSCHEDULABLE)
    (sent,) = transport.sent
    assert (sent.method, sent.path) == ("PATCH", "/api/v1/namespaces/ns/pods/p/status")
    assert sent.content_type == STRATEGIC_PATCH


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_delete_means_exactly_this_pod() -> None:
    transport = ScriptedTransport(b"{}", NotFoundError(404), ConflictError(409))
    client = KubeClient(cast("Transport", transport), LoopClock())
    assert [await client.delete_pod(FRESH) for _ in range(3)] == [True, False, False]
    assert transport.sent[0].body["preconditions"] == {"uid": "u1"}


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_another_pod_of_the_same_name_is_not_found() -> None:
    """The server calls the uid in the patch an attempt to change it."""
    immutable = ApiError(422, reason="Invalid", message='Pod "p" is invalid: metadata.uid: field is immutable')
    client = KubeClient(cast("Transport", ScriptedTransport(immutable, ApiError(422))), LoopClock())
    with pytest.raises(NotFoundError):
        await client.patch_pod_status(FRESH, condition=UNSCHEDULABLE)
    with pytest.raises(ApiError) as refused:
        await client.patch_pod_status(FRESH, condition=UNSCHEDULABLE)
    assert refused.value.status == 422
