"""The extender server: authentication, latency metrics and health around an `ExtenderApp`.

The app handles the verbs. /healthz, /livez, /readyz and /metrics need no authentication. A scheduler cannot send
a bearer token to an extender, but it sends the password of `urlPrefix`; so a token is accepted either way:
`Authorization: Bearer TOKEN`, or as the password of `https://bayplan:TOKEN@host:port`.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Callable
from time import perf_counter
from typing import Final

from aiohttp import web

from bayplan.extender.app import MAX_BODY_BYTES, AppResponse, ExtenderApp
from bayplan.observe.instruments import CONTENT_TYPE, Histogram, MetricsRegistry, exponential

HEALTH_PATHS: Final = ("/healthz", "/livez", "/readyz")
_BUCKETS: Final = exponential(0.0001, 2, 17)


class ExtenderServer:
    """See the module docstring."""

    def __init__(
        self,
        app: ExtenderApp,
        *,
        prefix: str = "",
        token: str = "",
        trouble: Callable[[], str] = lambda: "",
    ) -> None:
        """*trouble* says why the extender is not ready; empty if it is."""
        self.app = app
        self._prefix = f"{prefix.rstrip('/')}/"
        self._token = token.encode()
        self._trouble = trouble
        self.metrics = MetricsRegistry()
        self._durations = Histogram(
            "bayplan_extender_request_duration_seconds",
            "How long requests of schedulers took, by the verb and the status of the answer.",
            "verb",
            "code",
            buckets=_BUCKETS,
        )
        self.metrics.add(self._durations)

    def server(self) -> web.Server:
        return web.Server(self.handle, access_log=None)

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            return self._unauthenticated(request.path)
        if self._token and not self._is_known(request.headers.get("Authorization", "")):
            return web.Response(status=401, text="Unauthorized\n", headers={"WWW-Authenticate": "Basic"})
        if request.method != "POST" or not request.path.startswith(self._prefix):
            return web.Response(status=404, text=f"POST {self._prefix}VERB is the only path here\n")
        if (request.content_length or 0) > MAX_BODY_BYTES:
            return web.Response(status=413, text=f"the body is larger than {MAX_BODY_BYTES} bytes\n")
        verb = request.path.removeprefix(self._prefix)
        body = await request.content.read()
        start = perf_counter()
        response = await self.app.answer(verb, body)
        self._observe(verb, response, perf_counter() - start)
        return web.Response(status=response.status, body=response.body, content_type="application/json")

    def _unauthenticated(self, path: str) -> web.Response:
        if path == "/metrics":
            return web.Response(body=self.metrics.text(), headers={"Content-Type": CONTENT_TYPE})
        if path not in HEALTH_PATHS:
            return web.Response(status=404, text="404 page not found\n")
        trouble = self._trouble() if path == "/readyz" else ""
        return web.Response(status=500, text=f"{trouble}\n") if trouble else web.Response(text="ok")

    def _observe(self, verb: str, response: AppResponse, seconds: float) -> None:
        shown = verb if verb in self.app.verbs else "other"
        self._durations.labels(shown, str(response.status)).observe(seconds)

    def _is_known(self, authorization: str) -> bool:
        kind, _, value = authorization.partition(" ")
        shown = value.strip().encode()
        if kind.lower() == "basic":
            try:
                shown = base64.b64decode(shown, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif kind.lower() != "bearer":
            return False
        return hmac.compare_digest(shown, self._token)
