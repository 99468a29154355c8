"""The endpoints over real HTTPS: what they answer, to whom, and with which certificate."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme

from bayplan.client import NotFoundError
from bayplan.clock import SystemClock
from bayplan.observe.health import Check, HealthChecks, HealthResults
from bayplan.observe.instruments import Counter, MetricsRegistry
from bayplan.server import (
    DelegatingAuthenticator,
    DelegatingAuthorizer,
    Endpoints,
    SecureServer,
    ServingError,
    ServingOptions,
)
from bayplan.server.profiling import Profiling
from bayplan.server.secure import CLIENT_CA_PATH
from bayplan.server.serving_certificates import self_signed

pytestmark = pytest.mark.asyncio

Answer = tuple[int, dict[str, str], str]


class Cluster:
    """Implements `ReviewClient`: the token "good" is an administrator's, jane may see /metrics."""

    def __init__(self, client_ca: str = "") -> None:
        self._client_ca = client_ca

    async def request(
        self, method: str, path: str, body: Any = None, *, repeatable: bool | None = None
    ) -> dict[str, Any]:
        if path == CLIENT_CA_PATH:
            if not self._client_ca:
                raise NotFoundError(404, reason="NotFound", message="not found")
            return {"data": {"client-ca-file": self._client_ca}}
        if path.endswith("tokenreviews"):
            known = body["spec"]["token"] == "good"  # noqa: S105
            user = {"username": "admin", "groups": ["system:masters"]}
            return {"status": {"authenticated": known, "user": user}}
        spec = body["spec"]
        return {
            "status": {"allowed": spec["user"] == "jane" and spec["nonResourceAttributes"]["path"] == "/metrics"}
        }


class Served:
    """A running server, and questions to it."""

    def __init__(self, server: SecureServer) -> None:
        self.server = server
        self.verbosity = 0
        self.is_leading = True

    def _ask(self, method: str, path: str, token: str, body: str, tls: ssl.SSLContext | None) -> Answer:
        context = tls if tls is not None else _trusting_anybody()
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.port, context=context, timeout=10)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()
        finally:
            connection.close()

    async def get(self, path: str, *, token: str = "good", tls: ssl.SSLContext | None = None) -> Answer:  # noqa: S107
        return await asyncio.to_thread(self._ask, "GET", path, token, "", tls)

    async def put(self, path: str, body: str) -> Answer:
        return await asyncio.to_thread(self._ask, "PUT", path, "good", body, None)


def _trusting_anybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@asynccontextmanager
async def serving(cluster: Cluster | None = None, **options: Any) -> AsyncIterator[Served]:
    results, registry, clock = HealthResults(), MetricsRegistry(), SystemClock()
    registry.add(Counter("seen_total", "Seen."))
    trouble: list[str] = []
    ready = HealthChecks("readyz", [Check("shutdown", lambda: trouble[0] if trouble else None)], results)
    served: Served
    endpoints = Endpoints(
        health=(HealthChecks("livez", (), results), ready),
        health_results=results,
        metrics=registry,
        resources=lambda: b"pods\n" if served.is_leading else None,
        configuration=lambda: {"kind": "KubeSchedulerConfiguration"},
        flags={"v": "3", "config": "a.yaml"},
        set_verbosity=lambda level: setattr(served, "verbosity", level),
        inspections=Profiling().handlers(),
    )
    cluster = cluster or Cluster()
    server = SecureServer(
        ServingOptions(**{"port": 0, **options}),
        endpoints,
        DelegatingAuthenticator(cluster, clock),
        DelegatingAuthorizer(cluster, clock),
        clock,
        cluster=cluster,
    )
    served = Served(server)
    served.trouble = trouble  # type: ignore[attr-defined]
    await server.start()
    try:
        yield served
    finally:
        await server.stop()


async def test_every_path_answers() -> None:
    """With its status, its type and the text that kube-scheduler has for it."""
    async with serving() as served:
        assert (await served.get("/livez", token=""))[2] == "ok"
        assert (await served.get("/livez?verbose", token=""))[2] == "[+]ping ok\nlivez check passed\n"
        assert (await served.get("/readyz/shutdown"))[2] == "ok"
        status, headers, text = await served.get("/metrics")
        assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        assert "seen_total 0.0\n" in text
        assert headers["Cache-Control"] == "no-cache, private"
        assert (await served.get("/metrics/resources"))[2] == "pods\n"
        assert 'kubernetes_healthcheck{name="ping",type="livez"} 1.0' in (await served.get("/metrics/slis"))[2]
        configuration = json.loads((await served.get("/configz"))[2])
        assert configuration == {"componentconfig": {"kind": "KubeSchedulerConfiguration"}}
        assert (await served.get("/flagz"))[2].endswith("\nconfig: a.yaml\nv: 3\n")
        assert "Paths= /configz /flagz /livez /metrics /readyz\n" in (await served.get("/statusz"))[2]


async def test_other_paths_are_not_found() -> None:
    """A path that is there with another method is told apart."""
    async with serving() as served:
        assert (await served.get("/version"))[0::2] == (404, "404 page not found\n")
        assert (await served.put("/metrics", "x"))[0] == 405


async def test_a_failing_check_is_an_error() -> None:
    """Always verbose then, but without the reason."""
    async with serving() as served:
        served.trouble.append("process is shutting down")  # type: ignore[attr-defined]

        status, _, text = await served.get("/readyz", token="")

        assert (status, text) == (500, "[-]shutdown failed: reason withheld\nreadyz check failed\n")
        assert "process is shutting down" in (await served.get("/readyz/shutdown"))[2]


async def test_only_the_leader_tells_of_resources() -> None:
    """The others would tell the same, and it would count twice."""
    async with serving() as served:
        served.is_leading = False

        assert (await served.get("/metrics/resources"))[0::2] == (200, "")


async def test_strangers_see_health_only() -> None:
    """403 for nobody in particular, 401 for somebody who is not who they say; in the form of the API."""
    async with serving() as served:
        status, _, text = await served.get("/metrics", token="")
        assert status == 403
        assert json.loads(text)["message"] == 'forbidden: User "system:anonymous" cannot get path "/metrics"'

        status, _, text = await served.get("/livez", token="bad")  # noqa: S106
        assert (status, json.loads(text)["reason"]) == (401, "Unauthorized")


async def test_verbosity_is_set_while_running() -> None:
    """PUT /debug/flags/v, as in kube-scheduler."""
    async with serving() as served:
        status, _, text = await served.put("/debug/flags/v", "5")

        assert (status, text) == (200, "successfully set klog.logging.verbosity to 5")
        assert served.verbosity == 5
        assert (await served.put("/debug/flags/v", "much"))[0] == 400


async def test_pages_for_people_are_text() -> None:
    """Who wants something else is told so."""
    async with serving() as served:

        def ask() -> int:
            connection = http.client.HTTPSConnection(
                "127.0.0.1", served.server.port, context=_trusting_anybody(), timeout=10
            )
            headers = {"Authorization": "Bearer good", "Accept": "application/json"}
            connection.request("GET", "/flagz", headers=headers)
            status = connection.getresponse().status
            connection.close()
            return status

        assert await asyncio.to_thread(ask) == 406


async def test_client_certificates_of_the_cluster_are_believed(tmp_path: Path) -> None:
    """Whose they are is looked up in the cluster; the user is the certificate's."""
    authority = trustme.CA()
    pem = authority.cert_pem.bytes().decode()
    async with serving(Cluster(client_ca=pem)) as served:
        await served.server.look_up_client_ca()
        mine = _trusting_anybody()
        authority.issue_cert("x", common_name="jane").configure_cert(mine)

        assert (await served.get("/metrics", token="", tls=mine))[0] == 200
        status, _, text = await served.get("/configz", token="", tls=mine)
        assert (status, json.loads(text)["message"]) == (
            403,
            'forbidden: User "jane" cannot get path "/configz"',
        )


async def test_a_failed_lookup_can_be_the_end() -> None:
    """--authentication-tolerate-lookup-failure=false."""
    with pytest.raises(ServingError, match="cannot look up the client certificate authority"):
        async with serving(tolerate_lookup_failure=False):
            pass


async def test_given_certificate_is_served(tmp_path: Path) -> None:
    """--tls-cert-file and its key; one without the other is refused."""
    pair = self_signed(addresses=[])
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    certificate.write_bytes(pair.certificate)
    key.write_bytes(pair.key)
    trusting = ssl.create_default_context(cadata=pair.certificate.decode())
    async with serving(certificate_file=str(certificate), key_file=str(key)) as served:
        assert (await served.get("/livez", tls=trusting))[0] == 200

    with pytest.raises(ServingError, match="go together"):
        async with serving(certificate_file=str(certificate)):
            pass


async def test_a_port_that_is_taken_is_an_error() -> None:
    """It is named; --permit-port-sharing lets two listen."""
    async with serving(reuse_port=True) as served:
        port = served.server.port
        with pytest.raises(ServingError, match=f"cannot serve on 127.0.0.1:{port}"):
            async with serving(port=port):
                pass
        if os.name == "posix":
            async with serving(port=port, reuse_port=True) as other:
                assert other.server.port == port


async def test_profile_of_all_threads() -> None:
    """/debug/pprof/profile: a file for speedscope, with the thread of the test in it; for those who may see it."""
    async with serving() as served:
        status, headers, text = await served.get("/debug/pprof/profile?seconds=0.05")
        assert (status, headers["Content-Type"]) == (200, "application/json")
        threads = {each["name"]: each for each in json.loads(text)["profiles"]}
        assert "MainThread" in threads
        assert "profile" in (await served.get("/debug/pprof/"))[2]
        assert (await served.get("/debug/pprof/profile?seconds=0.05", token="bad"))[0] == 401  # noqa: S106
        assert (await served.get("/debug/pprof/profile?seconds=0.05", token=""))[0] == 403
