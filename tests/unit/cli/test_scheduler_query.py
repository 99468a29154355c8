"""Finding a running scheduler through its Lease."""

from __future__ import annotations

from typing import Any, cast

import click
import pytest
from tests.unit.explain.applied import LOADED

from bayplan.cli.scheduler_query import leading_server
from bayplan.client import KubeClient, NotFoundError

pytestmark = pytest.mark.asyncio
MISSING = NotFoundError(404, reason="NotFound", message="not found")


class FakeClient:
    """Has one Lease, and one pod, or none."""

    def __init__(self, holder: str | None, pod_ip: str = "") -> None:
        self._holder = holder
        self._pod_ip = pod_ip

    async def get_lease(self, namespace: str, name: str) -> dict[str, Any]:
        if self._holder is None:
            raise MISSING
        return {"spec": {"holderIdentity": self._holder}}

    async def request(self, method: str, path: str) -> dict[str, Any]:
        if not self._pod_ip:
            raise MISSING
        return {"status": {"podIP": self._pod_ip}}


@pytest.mark.parametrize(
    ("pod_ip", "server"),
    [
        pytest.param("", "https://host:10259", id="a process on a host"),
        pytest.param("10.0.0.7", "https://10.0.0.7:10259", id="a pod"),
        pytest.param("fd00::7", "https://[fd00::7]:10259", id="a pod with an IPv6 address"),
    ],
)
async def test_the_holder_of_the_lease_is_asked(pod_ip: str, server: str) -> None:
    client = cast("KubeClient", FakeClient("host_1234", pod_ip))

    assert await leading_server(client, LOADED) == server


@pytest.mark.parametrize(
    ("holder", "message"),
    [
        pytest.param(None, "there is no Lease kube-system/kube-scheduler", id="no Lease"),
        pytest.param("", "has no holder", id="no holder"),
    ],
)
async def test_without_a_leader_the_address_is_needed(holder: str | None, message: str) -> None:
    with pytest.raises(click.ClickException, match=message):
        await leading_server(cast("KubeClient", FakeClient(holder)), LOADED)
