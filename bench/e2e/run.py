"""Runs the plan on one control plane, and reports progress."""

from __future__ import annotations

import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import click
from tests.e2e.control_plane import ControlPlane

from bayplan.client import ClientError
from bench.e2e import record
from bench.e2e.api import Api
from bench.e2e.phase import PhaseError, PhaseRun
from bench.e2e.plan import Mode, Step
from bench.e2e.record import Phase
from bench.e2e.scene import Scene
from bench.e2e.workload import Workload

#: No request is queued, and the cleanup between phases is fast; the same for all schedulers.
API_SERVER_ARGUMENTS = (
    "--enable-priority-and-fairness=false",
    "--max-requests-inflight=0",
    "--max-mutating-requests-inflight=0",
    "--delete-collection-workers=16",
)
#: The only controller that a workload may need: it makes claims from templates.
CLAIM_CONTROLLER = "resourceclaim-controller"
#: Enough pods to compare choices.
DECISION_PODS = 300
LATENCY_PODS = 1000


def pods_of(step: Step, workload: Workload, requested: int | None) -> int:
    """The number of pods of a phase."""
    n_pods = requested or (LATENCY_PODS if step.mode is Mode.LATENCY else workload.pods)
    if workload.fit_on_node:
        n_pods = min(n_pods, workload.fit_on_node * step.n_nodes)
    return min(n_pods, DECISION_PODS) if step.mode is Mode.DECISIONS else n_pods


async def run(
    steps: Sequence[Step],
    workloads: Mapping[str, Workload],
    raw: Path,
    *,
    n_pods: int | None,
    idle_seconds: float,
) -> None:
    """Run all steps; each is appended to *raw* at once. After a failure, the rest of its workload is skipped."""
    progress, failed = Progress(len(steps)), set[tuple[str, Mode]]()
    async with _cluster(idle_seconds) as (plane, api, scene):
        for step in steps:
            if (step.workload, step.mode) in failed:
                progress.skip(step)
                continue
            workload = workloads[step.workload]
            n_measured = pods_of(step, workload, n_pods)
            phase = await _outcome(PhaseRun(step, workload, n_measured, plane, api, scene), step, n_measured)
            record.append(raw, phase)
            progress.tell(phase)
            if phase.failure:
                failed.add((step.workload, step.mode))


@asynccontextmanager
async def _cluster(idle_seconds: float) -> AsyncIterator[tuple[ControlPlane, Api, Scene]]:
    with (
        tempfile.TemporaryDirectory(prefix="bayplan-bench-") as folder,
        ControlPlane(Path(folder), api_server_arguments=API_SERVER_ARGUMENTS) as plane,
    ):
        async with Api(plane.kubeconfig) as api:
            scene = Scene(
                api,
                lambda: plane.start_controller_manager(controllers=CLAIM_CONTROLLER),
                idle_seconds=idle_seconds,
            )
            await scene.open()
            yield plane, api, scene


async def _outcome(phase_run: PhaseRun, step: Step, n_pods: int) -> Phase:
    try:
        return await phase_run.run()
    except PhaseError as error:
        return Phase(step=step, n_pods=n_pods, failure=str(error))
    except (ClientError, RuntimeError, TimeoutError) as error:
        return Phase(step=step, n_pods=n_pods, failure=f"{step}: {type(error).__name__}: {error}")


class Progress:
    """Prints one line per phase on standard error."""

    def __init__(self, n_steps: int) -> None:
        self._n_steps = n_steps
        self._n_done = 0
        self._began = time.monotonic()

    def tell(self, phase: Phase) -> None:
        self._n_done += 1
        each = (time.monotonic() - self._began) / self._n_done
        left = each * (self._n_steps - self._n_done) / 60
        figures = phase.failure or (
            f"{phase.pods_per_second:,.0f} pods/s, {phase.scheduler_ms:.2f} ms CPU per pod, first bind after "
            f"{phase.start_to_first_bind:.1f} s, {phase.backlog:.1f} s of event backlog, "
            f"at most {phase.peak_mb:,.0f} MB"
        )
        self._say(f"{phase.step}: {figures}; about {left:.0f} min left")

    def skip(self, step: Step) -> None:
        self._n_done += 1
        self._say(f"{step}: skipped after the failure")

    def _say(self, text: str) -> None:
        click.echo(f"[{self._n_done}/{self._n_steps}] {text}", err=True)
