"""What is kept of a phase: one line of JSON, written as soon as the phase is over, so that nothing is lost."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bench.e2e.plan import Step


class Phase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a step. Seconds are wall time, unless they are named CPU."""

    step: Step
    n_pods: int
    #: When it began, UTC.
    at: str = ""
    #: Whether Bayplan was the build of machine code.
    compiled: bool = False
    #: How long it took with all preparation.
    seconds: float = 0.0
    #: Why it does not count; empty if it does.
    failure: str = ""
    start_to_first_bind: float = 0.0
    #: From the first bind, or from the release, or, with preemption, from the first creation, to the last bind.
    span: float = 0.0
    #: From the last bind to the last event.
    backlog: float = 0.0
    #: CPU milliseconds a pod, from the first bind until the last event is written.
    scheduler_ms: float = 0.0
    api_server_ms: float = 0.0
    etcd_ms: float = 0.0
    #: CPU milliseconds a pod of the scheduler's whole life.
    whole_ms: float = 0.0
    peak_mb: float = 0.0
    #: Milliseconds from creation to bind; 0 where pods are there before the scheduler.
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    #: The scheduler's requests: "POST pods/binding" → how many.
    requests: dict[str, int] = {}
    #: The answers that were refusals: "409 POST pods/binding" → how many.
    refused: dict[str, int] = {}
    #: Reason → how many events.
    events: dict[str, int] = {}
    #: Number of pods → how many nodes have so many of the measured ones.
    pods_per_node: dict[int, int] = {}
    #: The node of each pod, where placements are compared.
    placements: list[str] = []

    @property
    def pods_per_second(self) -> float:
        return (self.n_pods - 1) / self.span if self.span else 0.0

    @property
    def pods_per_second_with_events(self) -> float:
        """The same until the last event is written: writing them later does not help here."""
        whole = self.span + self.backlog
        return (self.n_pods - 1) / whole if whole else 0.0

    @property
    def requests_per_pod(self) -> float:
        return sum(self.requests.values()) / self.n_pods

    @property
    def dropped_events(self) -> int:
        """Pods without an event that says where they went."""
        return max(self.n_pods - self.events.get("Scheduled", 0), 0)


def append(path: Path, phase: Phase) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(msgspec.json.encode(phase) + b"\n")


def read(path: Path) -> list[Phase]:
    """All phases of a raw file; of a step that was done twice, the last time counts."""
    try:
        phases = [msgspec.json.decode(line, type=Phase) for line in path.read_bytes().splitlines() if line]
    except FileNotFoundError:
        raise SystemExit(f"there is no file {path}") from None
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise SystemExit(f"{path} is not a file of this benchmark: {error}") from None
    return list({phase.step: phase for phase in phases}.values())
