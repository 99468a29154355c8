"""Resource claims: what kube-scheduler of each release allocated, pod by pod."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bayplan.conformance import Context, Difference, read_lines, run
from bayplan.conformance.claims import verify
from bayplan.scheduler import default_registry

GOLDEN = Path(__file__).parent / "golden"
RECORDING = GOLDEN / "claims-v1.36.4.jsonl.gz"


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(default_registry())


@pytest.mark.parametrize(("release", "n_steps"), [("v1.36.4", 855), ("v1.37.1", 855)])
def test_all_recorded_claims_are_identical(context: Context, release: str, n_steps: int) -> None:
    """Nodes, scores and messages, and the devices, capacity and configuration of every allocation."""
    report = run([GOLDEN / f"claims-{release}.jsonl.gz"], context)

    assert report.identical == report.total == n_steps, report.to_text()


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    return list(read_lines(RECORDING))


def other_device(step: dict[str, Any]) -> None:
    """In the claims that this step allocated."""
    uid = step["pod"]["metadata"]["uid"]
    for claim in step["claims_after"]:
        if any(each["uid"] == uid for each in claim["status"].get("reservedFor", ())):
            claim["status"]["allocation"]["devices"]["results"][0]["device"] = "other"


def other_consumer(step: dict[str, Any]) -> None:
    for claim in step["claims_after"]:
        claim["status"].pop("reservedFor", None)


def other_mapping(step: dict[str, Any]) -> None:
    step["extendedResourceClaimStatus"]["requestMappings"][0]["requestName"] = "other"


def other_message(step: dict[str, Any]) -> None:
    step["unschedulable"] = "other"


def not_held(step: dict[str, Any]) -> None:
    del step["held"]
    step.update(unschedulable="", reason="")


@pytest.mark.parametrize(
    ("outcome", "tamper", "where"),
    [
        pytest.param("node", other_device, "claims", id="a device"),
        pytest.param("node", other_consumer, "claims", id="a consumer"),
        pytest.param("extendedResourceClaimStatus", other_mapping, "requestMappings", id="a mapping"),
        pytest.param("unschedulable", other_message, "message", id="a message"),
        pytest.param("held", not_held, "outcome", id="a pod that is held back"),
    ],
)
def test_every_difference_is_found(
    lines: list[dict[str, Any]],
    context: Context,
    outcome: str,
    tamper: Callable[[dict[str, Any]], None],
    where: str,
) -> None:
    """A verifier that finds everything identical is worth nothing."""
    line, number = first_with(lines, outcome)
    tampered = copy.deepcopy(line)
    tamper(tampered["steps"][number])

    assert any(each.where.startswith(where) for each in differences_of(tampered, number, context))


def first_with(lines: list[dict[str, Any]], outcome: str) -> tuple[dict[str, Any], int]:
    for line in lines:
        for number, step in enumerate(line["steps"]):
            if outcome in step and (outcome != "node" or step["pod"]["spec"].get("resourceClaims")):
                return line, number
    raise AssertionError(f"no step has {outcome}")


def differences_of(line: dict[str, Any], number: int, context: Context) -> list[Difference]:
    for i, (_, differences) in enumerate(verify(line, context.of_line(line))):
        if i == number:
            return differences
    raise AssertionError(f"no step {number}")
