"""The endpoints about pods: what they answer, and to whom."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan.clock import SystemClock
from bayplan.core import SchedulerCore
from bayplan.core.messages import ObjectChanged
from bayplan.observe.record import Ring
from bayplan.process.inspection import Inspections
from bayplan.server.http_endpoints import EndpointRequest
from bayplan.shell.service import SchedulerService
from bayplan.testing import make_node, make_pod

pytestmark = pytest.mark.asyncio


class FakeVisitor:
    """Implements `Visitor`: may read everything in some namespaces; all of them, if "" is one."""

    def __init__(self, *namespaces: str) -> None:
        self._namespaces = namespaces

    async def may(self, verb: str, resource: str, namespace: str = "") -> bool:
        return "" in self._namespaces or namespace in self._namespaces


ADMIN = FakeVisitor("")


def inspections() -> Inspections:
    """Of a scheduler with one node, a pod that is too large, and one of another namespace that is on the node."""
    records, clock = Ring(), SystemClock()
    core = SchedulerCore(LOADED, REGISTRY, clock=clock, records=records, seed=0)
    other = make_pod("other", namespace="theirs", cpu="3", node_name="n")
    for each in (make_node("n", cpu="4"), other, make_pod("big", cpu="4")):
        core.handle(ObjectChanged(None, each))
    while core.schedule_one() is not None:
        core.take_instructions()
    service = cast("SchedulerService", SimpleNamespace(core=core, records=records))
    return Inspections(service, LOADED, REGISTRY, clock)


async def ask(path: str, visitor: FakeVisitor, **query: str) -> tuple[int, Any]:
    handler = inspections().handlers()[f"/explain/{path}"]
    response = await handler(EndpointRequest({name: [value] for name, value in query.items()}), visitor)
    assert isinstance(response.body, bytes)
    return response.status, json.loads(response.body)


async def test_a_pod_is_explained() -> None:
    status, answer = await ask("pod", ADMIN, namespace="default", name="big", suggestions="5")

    assert status == 200
    assert answer["outcome"]["summary"] == "No node takes default/big: 1 Insufficient cpu."
    assert answer["queue"]["queue"] == "unschedulable"
    assert "delete the pod theirs/other" in [each["summary"] for each in answer["suggestions"]]


async def test_pods_of_other_namespaces_are_not_shown() -> None:
    """Who may read only their own gets no suggestion about others, and not their names."""
    status, answer = await ask("pod", FakeVisitor("default"), name="big", suggestions="5")

    assert status == 200
    assert "theirs" not in json.dumps(answer)
    assert answer["suggestions"]


@pytest.mark.parametrize(
    ("query", "visitor", "status"),
    [
        pytest.param({"name": "big"}, FakeVisitor("elsewhere"), 403, id="may not read the namespace"),
        pytest.param({"name": "nobody"}, ADMIN, 404, id="no such pod"),
        pytest.param({"name": "nobody"}, FakeVisitor(), 403, id="no such pod, and no right to know"),
        pytest.param({}, ADMIN, 400, id="no name"),
        pytest.param({"name": "big", "suggestions": "many"}, ADMIN, 400, id="no number"),
        pytest.param({"name": "big", "suggestions": "1000"}, ADMIN, 400, id="too many"),
        pytest.param({"name": "big", "node": "nowhere"}, ADMIN, 404, id="no such node"),
    ],
)
async def test_bad_questions_are_refused(query: dict[str, str], visitor: FakeVisitor, status: int) -> None:
    assert (await ask("pod", visitor, **query))[0] == status


async def test_a_node_is_explained_as_the_attempt_found_it() -> None:
    """Behind the plugin that rejected the node, none was asked."""
    _, answer = await ask("pod", ADMIN, name="big", node="n")

    verdicts = {each["plugin"]: each["status"] for each in answer["node"]["verdicts"]}
    assert not answer["node"]["feasible"]
    assert verdicts["TaintToleration"] == "Passed"
    assert verdicts["NodeResourcesFit"] == "Rejected"
    assert verdicts["PodTopologySpread"] == "NotAsked"


async def test_as_many_suggestions_as_the_command_takes() -> None:
    assert (await ask("pod", ADMIN, name="big", suggestions="50"))[0] == 200


async def test_everything_that_waits_is_reported() -> None:
    status, answer = await ask("pending", ADMIN)

    assert (status, answer["kind"], answer["nPending"]) == (200, "PendingReport", 1)
    assert [each["name"] for each in answer["groups"][0]["pods"]] == ["big"]
    assert answer["source"]["kind"] == "scheduler"


async def test_a_report_is_for_those_who_may_list_the_pods() -> None:
    """Of one namespace, where not of all; without a word about the pods of others."""
    mine = FakeVisitor("default")

    assert (await ask("pending", mine))[0] == 403
    assert (await ask("pending", mine, namespace="theirs"))[0] == 403
    status, answer = await ask("pending", mine, namespace="default")
    assert (status, answer["nPending"]) == (200, 1)
    assert "theirs" not in json.dumps(answer)


async def test_who_may_not_list_nodes_gets_no_suggestion_about_them() -> None:
    _, everything = await ask("pod", ADMIN, name="big", suggestions="20")
    _, answer = await ask("pod", FakeVisitor("default", "theirs"), name="big", suggestions="20")

    def kinds(of: Any) -> set[str]:
        return {change["object"]["kind"] for each in of["suggestions"] for change in each["changes"]}

    assert "Node" in kinds(everything)
    assert kinds(answer) == {"Pod"}


async def test_the_queue_shows_what_may_be_read() -> None:
    """Counts are for all."""
    _, everything = await ask("queue", ADMIN)
    _, nothing = await ask("queue", FakeVisitor())

    assert [(each["name"], each["queue"]) for each in everything["pods"]] == [("big", "unschedulable")]
    assert nothing == {"counts": everything["counts"], "pods": []}


async def test_nodes_are_for_those_who_may_list_them() -> None:
    _, answer = await ask("nodes", ADMIN)

    assert [(each["name"], each["requested"]["cpu"]) for each in answer["nodes"]] == [("n", 3000)]
    assert (await ask("nodes", FakeVisitor("default")))[0] == 403


async def test_nobody_is_nominated_or_waits() -> None:
    assert (await ask("nominations", ADMIN))[1] == {"pods": []}
    assert (await ask("waiting", ADMIN))[1] == {"pods": []}
