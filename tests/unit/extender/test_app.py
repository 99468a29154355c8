"""ExtenderApp: typed handlers, Go's spelling on the wire, errors where a scheduler expects them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from bayplan.extender import (
    ExtenderApp,
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterResult,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    NodeList,
)

pytestmark = pytest.mark.asyncio

NODES = {"items": [{"metadata": {"name": "a", "labels": {"k": "v"}}, "spec": {"podCIDR": "x"}}]}


async def asked(app: ExtenderApp, verb: str, body: Any) -> tuple[int, Any]:
    response = await app.answer(verb, body if isinstance(body, bytes) else json.dumps(body).encode())
    return response.status, json.loads(response.body)


async def test_filter_gets_objects_and_gives_them_back_whole() -> None:
    """Unknown fields are kept; names are as Go spells them."""
    app = ExtenderApp()

    @app.filter
    def keep_all(args: ExtenderArgs) -> ExtenderFilterResult:
        assert args.Pod is not None
        assert args.Nodes is not None
        return ExtenderFilterResult(Nodes=NodeList(items=args.Nodes.items), FailedNodes={"z": args.Pod.name})

    status, response = await asked(app, "filter", {"Pod": {"metadata": {"name": "p"}}, "Nodes": NODES})

    assert status == 200
    assert response == {
        "Nodes": {"metadata": {}, **NODES},
        "NodeNames": None,
        "FailedNodes": {"z": "p"},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


@pytest.mark.parametrize("spelling", ["Pod NodeNames", "pod nodenames", "POD NODENAMES"])
async def test_requests_are_read_in_any_case(spelling: str) -> None:
    app = ExtenderApp()

    @app.prioritize
    async def by_name(args: ExtenderArgs) -> list[HostPriority]:
        return [HostPriority(Host=name, Score=len(name)) for name in args.NodeNames or ()]

    pod, names = spelling.split()

    assert await asked(app, "prioritize", {pod: {}, names: ["a", "bb"]}) == (
        200,
        [{"Host": "a", "Score": 1}, {"Host": "bb", "Score": 2}],
    )


async def test_preempt_and_bind() -> None:
    app = ExtenderApp()
    bound: list[str] = []

    @app.preempt
    def keep_first(args: ExtenderPreemptionArgs) -> ExtenderPreemptionResult:
        assert args.NodeNameToVictims is not None
        (name, victims), *_ = args.NodeNameToVictims.items()
        kept = MetaVictims(Pods=tuple(MetaPod(UID=pod.uid) for pod in victims.Pods))
        return ExtenderPreemptionResult(NodeNameToMetaVictims={name: kept})

    @app.bind
    async def note(args: ExtenderBindingArgs) -> ExtenderBindingResult | None:
        bound.append(f"{args.PodNamespace}/{args.PodName} {args.PodUID} {args.Node}")
        return None

    victims = {"a": {"Pods": [{"metadata": {"uid": "u"}}], "NumPDBViolations": 0}}
    assert await asked(app, "preempt", {"Pod": {}, "NodeNameToVictims": victims}) == (
        200,
        {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 0}}},
    )
    binding = {"PodName": "p", "PodNamespace": "d", "PodUID": "u", "Node": "a"}
    assert await asked(app, "bind", binding) == (200, {"Error": ""})
    assert bound == ["d/p u a"]


def _raises(args: object) -> Any:
    raise ValueError("no idea")


@pytest.mark.parametrize(
    ("verb", "status"),
    [
        pytest.param("filter", 200, id="filter says it in Error"),
        pytest.param("bind", 200, id="bind says it in Error"),
        pytest.param("prioritize", 500, id="prioritize has no Error"),
        pytest.param("preempt", 500, id="preempt has no Error"),
    ],
)
async def test_a_handler_that_raises(verb: str, status: int) -> None:
    """The scheduler gets the error, and the extender continues."""
    app = ExtenderApp()
    getattr(app, verb)(_raises)

    answered, response = await asked(app, verb, {"Pod": {}})

    assert (answered, response["Error"]) == (status, "ValueError: no idea")


@pytest.mark.parametrize(
    ("verb", "body", "status", "words"),
    [
        pytest.param("filter", b"{not json", 400, "the request cannot be read", id="not JSON"),
        pytest.param("filter", b"[]", 400, "cannot unmarshal array", id="not an object"),
        pytest.param("filter", b"", 400, "EOF", id="empty"),
        pytest.param("filter", b'{"Pod": {"spec": 7}}', 400, "Pod: spec", id="not a pod"),
        pytest.param("prioritise", b"{}", 404, "no prioritise; it has filter", id="an unknown verb"),
    ],
)
async def test_malformed_requests(verb: str, body: bytes, status: int, words: str) -> None:
    app = ExtenderApp()
    app.filter(lambda args: ExtenderFilterResult())

    answered, response = await asked(app, verb, body)

    assert answered == status
    assert words in response["Error"]


async def test_one_handler_per_verb() -> None:
    app = ExtenderApp()
    app.filter(lambda args: ExtenderFilterResult())
    with pytest.raises(ValueError, match="there is a handler for filter already"):
        app.filter(lambda args: ExtenderFilterResult())


async def test_it_is_an_aiohttp_application() -> None:
    app = ExtenderApp()
    app.filter(lambda args: ExtenderFilterResult(NodeNames=("a",)))
    async with TestClient(TestServer(app.application("/v1"))) as client:
        response = await client.post("/v1/filter", data=b'{"Pod": {}}')

        assert (await response.json())["NodeNames"] == ["a"]
