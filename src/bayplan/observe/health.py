"""Health checks, and the reports of them on /livez, /readyz and /healthz. No I/O: the server sends the reports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from bayplan.observe import klog
from bayplan.observe.instruments import STABLE, Counter, Gauge, MetricsRegistry

log = klog.get_logger("bayplan.observe")

#: Returns why the check fails; None if it passes.
Probe = Callable[[], str | None]


class Check(NamedTuple):
    name: str
    probe: Probe


#: The check of a path that has no other: the process responds.
PING: Final = Check("ping", lambda: None)


class HealthReport(NamedTuple):
    is_healthy: bool
    #: One line per check. Why a check failed is only logged, because no authorization is needed to read this.
    text: str


class HealthResults:
    """The metrics of the checks, for /metrics/slis."""

    def __init__(self) -> None:
        self._last = Gauge(
            "kubernetes_healthcheck",
            "This metric records the result of a single healthcheck.",
            "type",
            "name",
            stability=STABLE,
        )
        self._total = Counter(
            "kubernetes_healthchecks_total",
            "This metric records the results of all healthcheck.",
            "type",
            "name",
            "status",
            stability=STABLE,
        )
        self.registry = MetricsRegistry()
        self.registry.add(self._last, self._total)

    def note(self, kind: str, name: str, *, succeeded: bool) -> None:
        self._last.labels(kind, name).set(int(succeeded))
        self._total.labels(kind, name, "success" if succeeded else "error").inc()


class HealthChecks:
    """The checks behind one path; *kind* is the path without its slash."""

    def __init__(self, kind: str, checks: Sequence[Check], results: HealthResults) -> None:
        self.kind = kind
        self._checks = tuple(checks) or (PING,)
        self._results = results

    def report(self, excluded: Collection[str] = ()) -> HealthReport:
        lines: list[str] = []
        failures: dict[str, str] = {}
        for name, probe in self._checks:
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            why = probe()
            self._results.note(self.kind, name, succeeded=why is None)
            if why is None:
                lines.append(f"[+]{name} ok")
            else:
                lines.append(f"[-]{name} failed: reason withheld")
                failures[name] = why
        unknown = sorted(set(excluded) - {check.name for check in self._checks})
        if unknown:
            names = ",".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failures:
            log.info("Health check failed", v=2, kind=self.kind, failed=failures)
        lines.append(f"{self.kind} check {'failed' if failures else 'passed'}")
        return HealthReport(not failures, "".join(f"{line}\n" for line in lines))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(check.name for check in self._checks)

    def probe(self, name: str) -> str | None:
        """Run one of the checks in `names`: why it fails; None if it passes."""
        return next(check.probe for check in self._checks if check.name == name)()
