"""`python -m bench`: decisions per second for every workload, at several cluster sizes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click

from bench.decisions import MODES, measure
from bench.result import Result
from bench.workload import WORKLOADS, load_workload

SIZES = (500, 5_000, 15_000)


@click.command()
@click.argument("workloads", nargs=-1)
@click.option("--nodes", "sizes", multiple=True, type=int, help=f"Cluster sizes.  [default: {SIZES}]")
@click.option(
    "--mode", "modes", multiple=True, type=click.Choice(MODES), help="Which kinds of pods.  [default: all]"
)
@click.option("--placed", type=int, help="Pods on each node beforehand.  [default: from the workload]")
@click.option("--seconds", default=2.0, show_default=True, help="How long to measure each line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--here", is_flag=True, hidden=True, help="Measure in this process, for profiling.")
def main(
    workloads: tuple[str, ...],
    sizes: tuple[int, ...],
    modes: tuple[str, ...],
    placed: int | None,
    seconds: float,
    as_json: bool,
    here: bool,
) -> None:
    """Measure decisions, in a new process per line, so that memory is measured separately.

    WORKLOADS are names of files in bench/workloads; all of them by default. CPU time is measured, not wall time,
    because the machine may be shared.
    """
    names = workloads or tuple(path.stem for path in sorted(WORKLOADS.glob("*.yaml")))
    if not as_json and not here:
        click.echo(Result.heading())
    for name in names:
        workload = load_workload(name)  # fails early if the name is wrong
        for mode in modes or workload.modes or MODES:
            smaller: Result | None = None
            for n_nodes in sizes or workload.sizes or SIZES:
                run = measure if here else _measure_in_process
                result = run(name, mode, n_nodes, seconds, placed)
                click.echo(json.dumps(result._asdict()) if as_json else result.row(smaller))
                smaller = result


def _measure_in_process(name: str, mode: str, n_nodes: int, seconds: float, placed: int | None) -> Result:
    command = [
        sys.executable, "-m", "bench", name, "--mode", mode, "--nodes", str(n_nodes), "--seconds", str(seconds),
        *(() if placed is None else ("--placed", str(placed))),
    ]  # fmt: skip
    done = subprocess.run(  # noqa: S603  our own interpreter on our own module
        [*command, "--json", "--here"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent,
        check=False,
    )
    if done.returncode:
        raise click.ClickException(f"{name} with {n_nodes} nodes failed:\n{done.stderr}")
    return Result(**json.loads(done.stdout))


main()
