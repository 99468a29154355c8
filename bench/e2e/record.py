"""The record of a phase: one line of JSON, written as soon as the phase ends, so that nothing is lost."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bench.e2e.plan import Step


class Phase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a step. Seconds are wall time unless named CPU."""

    step: Step
    n_pods: int
    #: Start time, UTC.
    at: str = ""
    #: Whether Bayplan was the compiled build.
    compiled: bool = False
    #: Duration including all preparation.
    seconds: float = 0.0
    #: Why the phase failed; empty if it succeeded.
    failure: str = ""
    start_to_first_bind: float = 0.0
    #: From the first bind, or from the release, or, with preemption, from the first creation, to the last bind.
    span: float = 0.0
    #: From the last bind to the last event.
    backlog: float = 0.0
    #: CPU milliseconds per pod, from the first bind until the last event is written.
    scheduler_ms: float = 0.0
    api_server_ms: float = 0.0
    etcd_ms: float = 0.0
    #: CPU milliseconds per pod over the scheduler's whole life.
    whole_ms: float = 0.0
    peak_mb: float = 0.0
    #: Milliseconds from creation to bind; 0 if pods exist before the scheduler starts.
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    #: The scheduler's requests: "POST pods/binding" → count.
    requests: dict[str, int] = {}
    #: Refused requests: "409 POST pods/binding" → count.
    refused: dict[str, int] = {}
    #: Reason → number of events.
    events: dict[str, int] = {}
    #: Number of measured pods on a node → number of such nodes.
    pods_per_node: dict[int, int] = {}
    #: The node of each pod, if placements are compared.
    placements: list[str] = []

    @property
    def pods_per_second(self) -> float:
        return (self.n_pods - 1) / self.span if self.span else 0.0

    @property
    def pods_per_second_with_events(self) -> float:
        """The same until the last event is written, so that writing events later is no advantage."""
        whole = self.span + self.backlog
        return (self.n_pods - 1) / whole if whole else 0.0

    @property
    def requests_per_pod(self) -> float:
        return sum(self.requests.values()) / self.n_pods

    @property
    def dropped_events(self) -> int:
        """Pods without an event that names their node."""
        return max(self.n_pods - self.events.get("Scheduled", 0), 0)


def append(path: Path, phase: Phase) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(phase) + b"\n")


def read(path: Path) -> list[Phase]:
    """All phases of a raw file; if a step was run twice, the last one counts."""
    try:
        phases = [msgspec.json.decode(line, type=Phase) for line in path.read_bytes().splitlines() if line]
    except FileNotFoundError:
        raise SystemExit(f"there is no file {path}") from None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SystemExit(f"{path} is not a file of this benchmark: {error}") from None
    return list({phase.step: phase for phase in phases}.values())
