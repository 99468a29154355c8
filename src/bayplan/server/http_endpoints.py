"""The endpoints: the response of each path to an authorized request."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

from bayplan.observe.health import HealthChecks, HealthResults
from bayplan.observe.instruments import CONTENT_TYPE, MetricsRegistry
from bayplan.release import DEFAULT, Release
from bayplan.version import __version__

if TYPE_CHECKING:
    from aiohttp import web

TEXT: Final = "text/plain; charset=utf-8"
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and "
    "is for debugging purposes only."
)
_MEDIA_TYPES: Final = "only the following media types are accepted: text/plain"
#: Paths whose handlers read the data of a running scheduler.
SCHEDULER_PATHS: Final = frozenset({"/metrics", "/metrics/resources"})
#: The path that sets --v at run time.
_VERBOSITY_PATH: Final = "/debug/flags/v"


class EndpointRequest(NamedTuple):
    """The parts of a request that the response depends on."""

    query: Mapping[str, Sequence[str]]
    accept: str = "*/*"
    body: bytes = b""


Handler: TypeAlias = "Callable[[EndpointRequest], web.Response]"


class Visitor(Protocol):
    """Who asks, as far as a response depends on it."""

    async def may(self, verb: str, resource: str, namespace: str = "") -> bool:
        """Whether the API server lets the visitor do this with a resource of the core API; in all namespaces, if
        none is given."""


#: A handler whose response depends on what the visitor may read.
Inspection: TypeAlias = "Callable[[EndpointRequest, Visitor], Awaitable[web.Response]]"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The sources of the responses."""

    health: tuple[HealthChecks, ...]
    health_results: HealthResults
    metrics: MetricsRegistry
    #: /metrics/resources; None on a replica that is not the leader.
    resources: Callable[[], bytes | None]
    #: The effective configuration.
    configuration: Callable[[], Mapping[str, Any]]
    #: Every flag as text.
    flags: Mapping[str, str]
    #: What is emulated.
    release: Release = DEFAULT
    #: Sets klog's verbosity; None if it cannot be changed.
    set_verbosity: Callable[[int], None] | None = None
    #: Path → handler, for GET.
    inspections: Mapping[str, Inspection] = field(default_factory=dict)
    started: float = field(default_factory=time.time)

    def routes(self) -> dict[tuple[str, str], Handler]:
        """(method, path) → handler."""
        routes: dict[tuple[str, str], Handler] = {
            ("GET", "/metrics"): self._metrics,
            ("GET", "/metrics/resources"): self._resources,
            ("GET", "/metrics/slis"): self._slis,
            ("GET", "/configz"): self._configz,
            ("GET", "/flagz"): self._flagz,
            ("GET", "/statusz"): self._statusz,
        }
        for checks in self.health:
            routes["GET", f"/{checks.kind}"] = _health(checks)
            for check in checks.names:
                routes["GET", f"/{checks.kind}/{check}"] = _one_check(checks, check)
        if self.set_verbosity is not None:
            routes["PUT", _VERBOSITY_PATH] = self._verbosity
        return routes

    # --- metrics ----------------------------------------------------------------------------------

    def _metrics(self, request: EndpointRequest) -> web.Response:
        return self._exposition(self.metrics.text())

    def _resources(self, request: EndpointRequest) -> web.Response:
        return self._exposition(self.resources() or b"")

    def _slis(self, request: EndpointRequest) -> web.Response:
        return self._exposition(self.health_results.registry.text())

    def _exposition(self, text: bytes) -> web.Response:
        headers = {"Content-Type": CONTENT_TYPE, "Process-Start-Time-Unix": str(int(self.started))}
        return _response(text, headers)

    # --- running ----------------------------------------------------------------------------------

    def _configz(self, request: EndpointRequest) -> web.Response:
        return json_response({"componentconfig": self.configuration()})

    def _flagz(self, request: EndpointRequest) -> web.Response:
        lines = [f"{name}: {value}" for name, value in sorted(self.flags.items())]
        return _page(request, "flagz", lines)

    def _statusz(self, request: EndpointRequest) -> web.Response:
        up = int(time.time() - self.started)
        paths = sorted({path for _, path in self.routes() if path.count("/") == 1} - {"/statusz"})
        when = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(self.started))
        lines = [
            "",
            f"Started= {when}",
            f"Up= {up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec",
            f"Python version= {platform.python_version()}",
            f"Binary version= {__version__}",
            f"Emulation version= {self.release.minor}",
            f"Paths= {' '.join(paths)}",
        ]
        return _page(request, "statusz", lines)

    def _verbosity(self, request: EndpointRequest) -> web.Response:
        text = request.body.decode("utf-8", "replace").strip()
        if self.set_verbosity is None or not text.isdigit():
            return text_response(f"failed set klog.logging.verbosity {text!r}: not a number\n", status=400)
        self.set_verbosity(int(text))
        return text_response(f"successfully set klog.logging.verbosity to {text}")


def _health(checks: HealthChecks) -> Handler:
    def handle(request: EndpointRequest) -> web.Response:
        healthy, text = checks.report(request.query.get("exclude", ()))
        if not healthy:
            return text_response(text, status=500)
        return text_response(text if "verbose" in request.query else "ok")

    return handle


def _one_check(checks: HealthChecks, name: str) -> Handler:
    def handle(request: EndpointRequest) -> web.Response:
        why = checks.probe(name)
        return text_response("ok") if why is None else text_response(f"internal server error: {why}\n", status=500)

    return handle


def _page(request: EndpointRequest, name: str, lines: list[str]) -> web.Response:
    """A text page; a request for JSON gets a 406."""
    accepted = [part.partition(";")[0].strip() for part in request.accept.split(",")]
    if not {"text/plain", "text/*", "*/*"} & set(accepted):
        return status_response(406, "NotAcceptable", _MEDIA_TYPES)
    return text_response("\n".join(["", f"bayplan {name}", _WARNING, *lines, ""]))


# --- responses ------------------------------------------------------------------------------------


def text_response(text: str, *, status: int = 200) -> web.Response:
    return _response(text.encode(), {"Content-Type": TEXT, "X-Content-Type-Options": "nosniff"}, status)


def json_response(value: Any, *, status: int = 200) -> web.Response:
    return encoded_response(
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n", status=status
    )


def encoded_response(body: bytes, *, status: int = 200) -> web.Response:
    """JSON that is encoded already."""
    headers = {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff"}
    return _response(body, headers, status)


def _response(body: bytes, headers: Mapping[str, str], status: int = 200) -> web.Response:
    from aiohttp import web  # imported late: a process without a server does not need it

    return web.Response(body=body, status=status, headers=headers)


def status_response(code: int, reason: str, message: str) -> web.Response:
    """An error as a Kubernetes Status."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **({"details": {}} if code == 403 else {}),
        "code": code,
    }
    return json_response(status, status=code)
