"""Patches of a pod's status."""

import pytest

from bayplan.client.pod_status_patch import status_patch
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
