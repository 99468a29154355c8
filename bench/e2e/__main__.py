"""`python -m bench.e2e`: measures, or generates the report again from earlier measurements."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import uvloop

from bench.e2e import plan, record, report, workload
from bench.e2e.plan import Mode

RESULTS = Path(__file__).parents[1] / "results"


@click.command()
@click.argument("workloads", nargs=-1)
@click.option(
    "--nodes",
    "sizes",
    multiple=True,
    type=int,
    help=f"Cluster sizes.  [default: those of the workload, or {plan.DEFAULT_SIZES}]",
)
@click.option("--pods", "n_pods", type=int, help="The number of measured pods.  [default: from the workload]")
@click.option(
    "--pairs",
    default=5,
    show_default=True,
    help="How many times each scheduler is measured on the largest cluster; twice on the others.",
)
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(["burst", "stream", "latency"]),
    help="How pods arrive.  [default: burst; all for basic]",
)
@click.option(
    "--decisions/--no-decisions", default=True, help="Also compare the choices, on the smallest cluster."
)
@click.option(
    "--idle", "idle_seconds", default=2.0, show_default=True, help="Seconds of idle time between phases."
)
@click.option(
    "--json", "raw", type=click.Path(path_type=Path), default=RESULTS / "e2e.jsonl", help="The raw file."
)
@click.option("--resume", is_flag=True, help="Skip phases that are in the raw file.")
@click.option("--report", "report_of", type=click.Path(path_type=Path), help="Only write the report of this file.")
@click.option(
    "--into", type=click.Path(path_type=Path), help="Folder of the report.  [default: that of the raw file]"
)
def main(
    workloads: tuple[str, ...],
    sizes: tuple[int, ...],
    n_pods: int | None,
    pairs: int,
    modes: tuple[str, ...],
    decisions: bool,
    idle_seconds: float,
    raw: Path,
    resume: bool,
    report_of: Path | None,
    into: Path | None,
) -> None:
    """Compare Bayplan with kube-scheduler on a real control plane ('make control-plane' builds it).

    WORKLOADS are names of files in bench/e2e/workloads; by default all but those that say that they take long.
    """
    if report_of is None:
        from bench.e2e import run

        chosen = {name: workload.load(name) for name in workloads or workload.default_names()}
        steps = plan.make(
            list(chosen.values()), [Mode(mode) for mode in modes], sizes, pairs=pairs, decisions=decisions
        )
        if not resume:
            raw.unlink(missing_ok=True)
        elif raw.exists():
            done = {phase.step for phase in record.read(raw) if not phase.failure}
            steps = [step for step in steps if step not in done]
        if steps:
            uvloop.run(run.run(steps, chosen, raw, n_pods=n_pods, idle_seconds=idle_seconds))
    file = report_of or raw
    phases = record.read(file)
    click.echo(f"The report is {report.write(phases, into or file.parent)}", err=True)
    failures = [phase.failure.splitlines()[0] for phase in phases if phase.failure]
    if failures:
        sys.exit("\n".join(["These phases failed:", *failures]))


main()
