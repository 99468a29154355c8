"""The extender server: authentication, health, metrics."""

from __future__ import annotations

import base64
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from aiohttp.test_utils import RawTestServer, TestClient

from bayplan.extender import ExtenderApp, ExtenderFilterResult
from bayplan.extender.server import ExtenderServer
from bayplan.extender.stanza import ExtenderAddress, stanza

pytestmark = pytest.mark.asyncio

FILTER = b'{"Pod": {}}'


def basic(credentials: str) -> str:
    return f"Basic {base64.b64encode(credentials.encode()).decode()}"


@asynccontextmanager
async def served(**options: Any) -> AsyncIterator[TestClient[Any, Any]]:
    app = ExtenderApp()
    app.filter(lambda args: ExtenderFilterResult(NodeNames=("a",)))
    client: TestClient[Any, Any] = TestClient(RawTestServer(ExtenderServer(app, **options).handle))
    async with client:
        yield client


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="nothing shown"),
        pytest.param({"Authorization": "Bearer s3cret"}, 200, id="the token"),
        pytest.param({"Authorization": "Bearer other"}, 401, id="another token"),
        pytest.param({"Authorization": basic("bayplan:s3cret")}, 200, id="as a password"),
        pytest.param({"Authorization": basic("s3cret:")}, 401, id="as a name"),
        pytest.param({"Authorization": "Basic ???"}, 401, id="not base64"),
        pytest.param({"Authorization": "Digest s3cret"}, 401, id="another kind"),
    ],
)
async def test_a_token_is_required(headers: dict[str, str], status: int) -> None:
    async with served(token="s3cret") as client:  # noqa: S106
        answer = await client.post("/filter", data=FILTER, headers=headers)

        assert answer.status == status


async def test_health_is_public() -> None:
    """Regardless of the token; readiness waits for the nodes."""
    trouble = ["the nodes are not read yet"]
    async with served(token="s3cret", trouble=lambda: "".join(trouble)) as client:  # noqa: S106
        assert [(await client.get(path)).status for path in ("/healthz", "/livez", "/readyz", "/x")] == [
            200,
            200,
            500,
            404,
        ]
        trouble.clear()
        assert await (await client.get("/readyz")).text() == "ok"


async def test_latencies_are_counted() -> None:
    async with served() as client:
        await client.post("/filter", data=FILTER)
        await client.post("/filter", data=b"{")
        await client.post("/nonsense", data=FILTER)
        text = await (await client.get("/metrics")).text()

    name = "bayplan_extender_request_duration_seconds_count"
    assert f'{name}{{code="200",verb="filter"}} 1.0' in text
    assert f'{name}{{code="400",verb="filter"}} 1.0' in text
    assert f'{name}{{code="404",verb="other"}} 1.0' in text


async def test_verbs_may_have_a_prefix() -> None:
    async with served(prefix="/scheduler/") as client:
        assert (await client.post("/scheduler/filter", data=FILTER)).status == 200
        assert (await client.post("/filter", data=FILTER)).status == 404
        assert (await client.put("/scheduler/filter", data=FILTER)).status == 404


async def test_large_requests_are_read() -> None:
    """A thousand whole nodes are several megabytes."""
    async with served() as client:
        body = io.BytesIO(b'{"Pod": {}, "x": "' + b"y" * 3_000_000 + b'"}')
        answer = await client.post("/filter", data=body)

        assert answer.status == 200


@pytest.mark.parametrize(
    ("reached", "verbs", "expected"),
    [
        pytest.param(
            ExtenderAddress("http://127.0.0.1:8888"),
            ("filter",),
            {"urlPrefix": "http://127.0.0.1:8888", "filterVerb": "filter", "nodeCacheCapable": False},
            id="plain",
        ),
        pytest.param(
            ExtenderAddress("http://x", has_nodes=True),
            ("filter", "prioritize", "preempt", "bind"),
            {
                "urlPrefix": "http://x",
                "filterVerb": "filter",
                "prioritizeVerb": "prioritize",
                "preemptVerb": "preempt",
                "bindVerb": "bind",
                "weight": 1,
                "nodeCacheCapable": True,
            },
            id="every verb",
        ),
        pytest.param(
            ExtenderAddress("https://x:1", server_name="localhost", authority=b"PEM", wants_certificate=True),
            (),
            {
                "urlPrefix": "https://x:1",
                "nodeCacheCapable": False,
                "enableHTTPS": True,
                "tlsConfig": {
                    "caData": base64.b64encode(b"PEM").decode(),
                    "certFile": "/path/to/client.crt",
                    "keyFile": "/path/to/client.key",
                    "serverName": "localhost",
                },
            },
            id="TLS",
        ),
    ],
)
async def test_the_stanza(reached: ExtenderAddress, verbs: tuple[str, ...], expected: dict[str, Any]) -> None:
    """What to paste: the implemented verbs, and how to trust the extender."""
    (extender,) = yaml.safe_load(stanza(reached, verbs))["extenders"]

    assert extender == {**expected, "ignorable": False, "httpTimeout": "5s"}
