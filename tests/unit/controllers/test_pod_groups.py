"""The status of a PodGroup, computed step by step from its pods."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.controllers.pod_groups import next_status
from bayplan.controllers.pod_view import PodView
from bayplan.model.kube_object import ObjectMeta, OwnerReference


def group(phase: str = "", min_member: int = 3, **status: Any) -> dict[str, Any]:
    return {"spec": {"minMember": min_member}, "status": {**({"phase": phase} if phase else {}), **status}}


def pods(*phases: str, owners: tuple[str, ...] = ()) -> list[PodView]:
    references = tuple(OwnerReference(name=name) for name in owners)
    made = []
    for i, phase in enumerate(phases):
        view = PodView(ObjectMeta(name=f"p{i}", namespace="team", owner_references=references))
        made.append(PodView(view.metadata, view.spec, type(view.status)(phase=phase)))
    return made


@pytest.mark.parametrize(
    ("phase", "phases", "expected"),
    [
        ("", [], {"phase": "Pending"}),
        ("Pending", ["Pending"] * 2, {"phase": "Pending"}),
        ("Pending", ["Pending"] * 3, {"phase": "Scheduling"}),
        ("Scheduling", ["Pending"] * 3, {"phase": "Scheduling", "running": 0, "succeeded": 0, "failed": 0}),
        ("Scheduling", ["Running"] * 3, {"phase": "Running", "running": 3, "succeeded": 0, "failed": 0}),
        ("Running", ["Running", "Pending", "Pending"], {"phase": "Scheduling", "running": 1}),
        ("Running", ["Running"], {"phase": "Pending", "running": 1}),
        ("Running", ["Running", "Running", "Succeeded"], {"phase": "Running", "running": 2, "succeeded": 1}),
        ("Running", ["Succeeded"] * 3, {"phase": "Finished", "succeeded": 3}),
        ("Running", ["Running", "Running", "Failed"], {"phase": "Failed", "running": 2, "failed": 1}),
        ("Running", ["Succeeded"] * 3 + ["Failed"], {"phase": "Finished", "succeeded": 3, "failed": 1}),
        ("Scheduling", ["Pending", "Pending", "Failed"], {"phase": "Scheduling", "failed": 1}),
    ],
    ids=[
        "new", "too few pods", "enough pods", "none runs", "all run", "one runs", "pods gone", "one is through",
        "all are through", "one failed", "one failed beyond the minimum", "one failed before the others ran",
    ],
)  # fmt: skip
def test_phase_follows_the_pods(phase: str, phases: list[str], expected: dict[str, Any]) -> None:
    """As in the controller of scheduler-plugins, for a group of three."""
    status = next_status(group(phase), pods(*phases))

    assert {key: status.get(key) for key in expected} == expected


@pytest.mark.parametrize("phase", ["Finished", "Failed"])
def test_final_phases_do_not_change(phase: str) -> None:
    """Later changes of the pods change nothing."""
    assert next_status(group(phase, running=0, succeeded=3), pods()) == {
        "phase": phase,
        "running": 0,
        "succeeded": 3,
    }


def test_status_names_the_owners() -> None:
    """The owners of the first pod, in order."""
    status = next_status(group("Pending"), pods("Pending", "Pending", "Pending", owners=("job-b", "job-a")))

    assert status["occupiedBy"] == "team/job-a,team/job-b"
