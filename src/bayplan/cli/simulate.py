"""`bayplan simulate`: what would happen if these pods came to that cluster."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from bayplan.cli.inputs import FILE, Configuration, accepted, plugin_option, registry

if TYPE_CHECKING:
    from bayplan.lab import Results, SimulationOptions, Trace


@click.command(name="simulate")
@click.argument(
    "traces", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False), metavar="TRACE..."
)
@click.option("--config", "configuration", type=FILE, metavar="FILE", help="A KubeSchedulerConfiguration.")
@plugin_option
@click.option(
    "--reader", metavar="REF", help="Read the traces with a function: path/to/file.py:function or module:function."
)
@click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of all random choices.")
@click.option(
    "--ties",
    type=click.Choice(["random", "name", "first"]),
    default="random",
    show_default=True,
    help="Which of equally good nodes is taken: any, as kube-scheduler does, the smallest name, or the oldest.",
)
@click.option("--speed", default=1.0, show_default=True, metavar="X", help="With 2, pods arrive twice as fast.")
@click.option("--repeat", default=1, show_default=True, metavar="N", help="Play the trace this many times.")
@click.option("--rate", type=float, metavar="X", help="Pods per second, at random, in place of recorded times.")
@click.option(
    "--ends",
    type=click.Choice(["recorded", "duration", "never"]),
    default="recorded",
    show_default=True,
    help="When pods end: at the recorded time, after they ran as long as recorded, or never.",
)
@click.option("--no-retry", is_flag=True, help="A pod that does not fit when it is tried leaves at once.")
@click.option(
    "--attempt-seconds",
    default=0.001,
    show_default=True,
    type=click.FloatRange(min=1e-6),
    metavar="X",
    help="How much simulated time an attempt takes.",
)
@click.option("--out", type=click.Path(file_okay=False), metavar="DIR", help="Write summary.json and CSV files.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(traces: tuple[str, ...], configuration: str | None, plugins: tuple[str, ...], **given: Any) -> None:
    """Simulate a scheduler on a trace, in virtual time.

    TRACE files together are the nodes and the pods: JSON lines of Bayplan's own form, or CSV files of openb, plain
    or .gz. The queue, the scheduling cycle, preemption and Permit are those of a running scheduler. The same
    command prints and writes the same, byte for byte.
    """
    from bayplan.lab import SimulationOptions, TraceError, WorkloadOptions, read_trace, run_simulation

    workload = WorkloadOptions(given["speed"], given["repeat"], given["rate"], given["ends"])
    options = SimulationOptions(
        given["seed"], given["ties"], workload, not given["no_retry"], given["attempt_seconds"]
    )
    catalogue = registry(plugins)
    loaded = accepted(Configuration.of_file(configuration), catalogue)
    try:
        trace = read_trace(*traces, reader=given["reader"])
        results = run_simulation(trace, loaded, catalogue, options, _progress())
        if given["out"]:
            results.write(given["out"])
    except TraceError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{given['out']}: cannot be written: {error.strerror or error}") from error
    text = results.summary_json() if given["as_json"] else _text(results, trace, options)
    click.echo(text, nl=False)


def _progress() -> Any:
    """A line with the time left on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return lambda done, total: None
    start = shown = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if done == total:
            click.echo("\r\033[K", nl=False, err=True)
        elif done and now - shown > 0.5:
            shown = now
            left = (now - start) / done * (total - done)
            click.echo(f"\r\033[K{done:,} of {total:,}, {left:.0f} s left", nl=False, err=True)

    return show


def _text(results: Results, trace: Trace, options: SimulationOptions) -> str:
    figures = results.summary()
    waiting = figures["job_waiting_time_seconds"]
    lines = [
        f"{figures['pods']:,} pods on {len(trace.nodes):,} nodes in {figures['simulated_seconds']:,.0f} s, "
        f"seed {options.seed}, ties {options.ties}",
        f"scheduling outcome rate   {figures['scheduling_outcome_rate']:.2f} %: {figures['scheduled_pods']:,} "
        f"scheduled, {figures['pending_pods']:,} pending, "
        f"{figures['pods_that_left_without_a_node']:,} left without a node",
    ]
    if waiting:
        marks = ", ".join(f"{name} {waiting[name]:,.3f}" for name in ("mean", "p50", "p99", "max"))
        lines.append(f"job waiting time, s       {marks}")
    for name in ("cpu", "memory", "gpu"):
        rates = figures[f"{name}_allocation_rate"]
        if name != "gpu" or rates["highest"]:
            shown = ", ".join(
                f"{key.replace('_', ' ')} {rates[key]:.2f} %" for key in ("at_end", "highest", "mean")
            )
            lines.append(f"{name} allocation rate".ljust(26) + shown)
    if figures["preemptions"]:
        lines.append(f"preemptions               {figures['preemptions']:,}")
    return "\n".join(lines) + "\n"
