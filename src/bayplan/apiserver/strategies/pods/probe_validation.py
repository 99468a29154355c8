"""Validation of probes and lifecycle hooks of a container."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import (
    each,
    forbidden,
    invalid,
    non_negative,
    not_supported,
    required,
)
from bayplan.apiserver.validation.name_validation import port_name_errors, port_number_errors

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_HEADER_NAME = re.compile("[-A-Za-z0-9]+")
_PLAIN_SIGNALS = (
    "ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE", "POLL",
    "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1",
    "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ", "RTMIN", "RTMAX",
)  # fmt: skip
_LINUX_SIGNALS = frozenset(
    f"SIG{name}"
    for name in (*_PLAIN_SIGNALS, *(f"RTMIN+{i}" for i in range(1, 16)), *(f"RTMAX-{i}" for i in range(1, 15)))
)
_SIGNALS = {"linux": _LINUX_SIGNALS, "windows": frozenset({"SIGKILL", "SIGTERM"})}


def probe_causes(container: Mapping[str, Any], grace: int | None, path: str) -> Iterator[StatusCause]:
    for kind in PROBES:
        if kind in container:
            yield from _one_probe_causes(container[kind], kind, grace, f"{path}.{kind}")


def _one_probe_causes(probe: Mapping[str, Any], kind: str, grace: int | None, path: str) -> Iterator[StatusCause]:
    yield from _handler_causes(probe, grace, path)
    for key in _COUNTS:
        yield from non_negative(f"{path}.{key}", probe.get(key))
    field = f"{path}.terminationGracePeriodSeconds"
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid(field, seconds, "must be greater than 0")
    if kind == "readinessProbe":
        if seconds is not None:
            yield invalid(field, seconds, "must not be set for readinessProbes")
    elif probe.get("successThreshold") != 1:
        yield invalid(f"{path}.successThreshold", probe.get("successThreshold"), "must be 1")


def lifecycle_causes(
    lifecycle: Mapping[str, Any], grace: int | None, os: str | None, path: str
) -> Iterator[StatusCause]:
    for hook in ("postStart", "preStop"):
        if hook in lifecycle:
            yield from _handler_causes(lifecycle[hook], grace, f"{path}.{hook}")
    if "stopSignal" not in lifecycle:
        return
    if os is None:
        yield forbidden(f"{path}.stopSignal", "may not be set for containers with empty `spec.os.name`")
    elif lifecycle["stopSignal"] not in _SIGNALS.get(os, lifecycle["stopSignal"]):
        yield not_supported(f"{path}.stopSignal", lifecycle["stopSignal"], sorted(_SIGNALS[os]))


def _handler_causes(handler: Mapping[str, Any], grace: int | None, path: str) -> Iterator[StatusCause]:
    kinds = [kind for kind in _HANDLERS if kind in handler]
    if not kinds:
        yield required(path, "must specify a handler type")
        return
    for kind in kinds[1:]:
        yield forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")
    kind, field_path = kinds[0], f"{path}.{kinds[0]}"
    action = handler[kind]
    if kind == "exec" and not action.get("command"):
        yield required(f"{field_path}.command")
    elif kind == "httpGet":
        yield from _http_causes(action, field_path)
    elif kind in ("tcpSocket", "grpc"):
        yield from port_causes(action.get("port", 0), f"{field_path}.port")
    elif kind == "sleep" and grace is not None and not 0 <= action.get("seconds", 0) <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield invalid(field_path, action.get("seconds", 0), text)


def _http_causes(action: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if not action.get("path"):
        yield required(f"{path}.path")
    yield from port_causes(action.get("port", 0), f"{path}.port")
    if action.get("scheme") not in ("HTTP", "HTTPS"):
        yield not_supported(f"{path}.scheme", action.get("scheme"), ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders", ()):
        if not _HEADER_NAME.fullmatch(header.get("name", "")):
            text = (
                "a valid HTTP header must consist of alphanumeric characters or '-' "
                "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
            )
            yield invalid(f"{path}.httpHeaders", header.get("name", ""), text)


def port_causes(port: int | str, field: str) -> list[StatusCause]:
    """Errors of a port given by number or by name."""
    if isinstance(port, int):
        return each(field, port, port_number_errors(port))
    return each(field, port, port_name_errors(port))
