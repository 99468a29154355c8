"""The endpoints: what each path answers to those who may ask."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from bayplan.observe.health import HealthChecks, HealthResults
from bayplan.observe.instruments import CONTENT_TYPE, Registry
from bayplan.observe.process_metrics import KUBERNETES
from bayplan.version import __version__

if TYPE_CHECKING:
    from aiohttp import web

TEXT: Final = "text/plain; charset=utf-8"
_WARNING: Final = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and "
    "is for debugging purposes only."
)
_MEDIA_TYPES: Final = "only the following media types are accepted: text/plain"
#: Of --v, whose value this sets while running.
_VERBOSITY_PATH: Final = "/debug/flags/v"


class Asked(NamedTuple):
    """What of a request the answer depends on."""

    query: Mapping[str, Sequence[str]]
    accept: str = "*/*"
    body: bytes = b""


Handler: TypeAlias = "Callable[[Asked], web.Response]"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the answers come from."""

    health: tuple[HealthChecks, ...]
    health_results: HealthResults
    metrics: Registry
    #: /metrics/resources; None while somebody else leads, who has it.
    resources: Callable[[], bytes | None]
    #: The configuration as it is in effect.
    configuration: Callable[[], Mapping[str, Any]]
    #: Every flag as text.
    flags: Mapping[str, str]
    #: Sets klog's verbosity; None: it cannot be changed.
    set_verbosity: Callable[[int], None] | None = None
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

    def _metrics(self, asked: Asked) -> web.Response:
        return self._exposition(self.metrics.text())

    def _resources(self, asked: Asked) -> web.Response:
        return self._exposition(self.resources() or b"")

    def _slis(self, asked: Asked) -> web.Response:
        return self._exposition(self.health_results.registry.text())

    def _exposition(self, text: bytes) -> web.Response:
        headers = {"Content-Type": CONTENT_TYPE, "Process-Start-Time-Unix": str(int(self.started))}
        return _answer(text, headers)

    # --- what runs here ---------------------------------------------------------------------------

    def _configz(self, asked: Asked) -> web.Response:
        return json_answer({"componentconfig": self.configuration()})

    def _flagz(self, asked: Asked) -> web.Response:
        lines = [f"{name}: {value}" for name, value in sorted(self.flags.items())]
        return _page(asked, "flagz", lines)

    def _statusz(self, asked: Asked) -> web.Response:
        up = int(time.time() - self.started)
        paths = sorted({path for _, path in self.routes() if path.count("/") == 1} - {"/statusz"})
        when = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(self.started))
        lines = [
            "",
            f"Started= {when}",
            f"Up= {up // 3600} hr {up // 60 % 60:02d} min {up % 60:02d} sec",
            f"Python version= {platform.python_version()}",
            f"Binary version= {__version__}",
            f"Emulation version= {KUBERNETES.rpartition('.')[0]}",
            f"Paths= {' '.join(paths)}",
        ]
        return _page(asked, "statusz", lines)

    def _verbosity(self, asked: Asked) -> web.Response:
        text = asked.body.decode("utf-8", "replace").strip()
        if self.set_verbosity is None or not text.isdigit():
            return text_answer(f"failed set klog.logging.verbosity {text!r}: not a number\n", status=400)
        self.set_verbosity(int(text))
        return text_answer(f"successfully set klog.logging.verbosity to {text}")


def _health(checks: HealthChecks) -> Handler:
    def handle(asked: Asked) -> web.Response:
        healthy, text = checks.report(asked.query.get("exclude", ()))
        if not healthy:
            return text_answer(text, status=500)
        return text_answer(text if "verbose" in asked.query else "ok")

    return handle


def _one_check(checks: HealthChecks, name: str) -> Handler:
    def handle(asked: Asked) -> web.Response:
        why = checks.probe(name)
        return text_answer("ok") if why is None else text_answer(f"internal server error: {why}\n", status=500)

    return handle


def _page(asked: Asked, name: str, lines: list[str]) -> web.Response:
    """A page for people; whoever asks for JSON is told that there is none."""
    accepted = [part.partition(";")[0].strip() for part in asked.accept.split(",")]
    if not {"text/plain", "text/*", "*/*"} & set(accepted):
        return status_answer(406, "NotAcceptable", _MEDIA_TYPES)
    return text_answer("\n".join(["", f"bayplan {name}", _WARNING, *lines, ""]))


# --- answers ----------------------------------------------------------------------------------------


def text_answer(text: str, *, status: int = 200) -> web.Response:
    return _answer(text.encode(), {"Content-Type": TEXT, "X-Content-Type-Options": "nosniff"}, status)


def json_answer(value: Any, *, status: int = 200) -> web.Response:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    headers = {"Content-Type": "application/json", "X-Content-Type-Options": "nosniff"}
    return _answer(body, headers, status)


def _answer(body: bytes, headers: Mapping[str, str], status: int = 200) -> web.Response:
    from aiohttp import web  # a process that serves nothing does without

    return web.Response(body=body, status=status, headers=headers)


def status_answer(code: int, reason: str, message: str) -> web.Response:
    """An error in the form of the Kubernetes API."""
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
    return json_answer(status, status=code)
