"""Health is reported as kube-scheduler does."""

from __future__ import annotations

import pytest

from bayplan.observe.health import Check, HealthChecks, HealthResults


def checks(kind: str, *given: Check) -> HealthChecks:
    return HealthChecks(kind, given, HealthResults())


READY = checks(
    "readyz",
    Check("leaderElection", lambda: None),
    Check("shutdown", lambda: None),
    Check("sched-handler-sync", lambda: "handlers are not fully synchronized"),
)


def test_path_without_checks_has_a_ping() -> None:
    """The response itself is the check."""
    assert checks("livez").report() == (True, "[+]ping ok\nlivez check passed\n")


def test_a_failure_is_reported_without_its_reason() -> None:
    """The path needs no authorization. The reason is logged, and given for a single check."""
    healthy, text = READY.report()

    assert not healthy
    assert text == (
        "[+]leaderElection ok\n[+]shutdown ok\n"
        "[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
    )
    assert READY.probe("sched-handler-sync") == "handlers are not fully synchronized"
    assert READY.probe("shutdown") is None


def test_checks_can_be_excluded() -> None:
    """With a warning for names that do not exist."""
    healthy, text = READY.report(["sched-handler-sync", "none"])

    assert healthy
    assert "[+]sched-handler-sync excluded: ok\n" in text
    assert 'warn: some health checks cannot be excluded: no matches for "none"\n' in text


@pytest.mark.parametrize(("why", "status", "value"), [(None, "success", 1), ("no", "error", 0)])
def test_results_are_counted(why: str | None, status: str, value: int) -> None:
    """For /metrics/slis."""
    results = HealthResults()
    HealthChecks("readyz", [Check("shutdown", lambda: why)], results).report()

    text = results.registry.text().decode()

    assert f'kubernetes_healthcheck{{name="shutdown",type="readyz"}} {value}.0' in text
    assert f'kubernetes_healthchecks_total{{name="shutdown",status="{status}",type="readyz"}} 1.0' in text
