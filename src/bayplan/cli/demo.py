"""`bayplan demo`: the default configuration, then a plugin of ten lines at work on four nodes in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from bayplan.cli.inputs import load, registry
from bayplan.cli.tables import print_heading, print_table

if TYPE_CHECKING:
    from bayplan.cycle import Decision
    from bayplan.model import Node, Pod
    from bayplan.observe.record import Record
    from bayplan.scheduler import Scheduler

SAMPLES: Final = Path(__file__).parent / "samples"
PLUGIN: Final = SAMPLES / "cpu_nodes.py"
CONFIGURATION: Final = SAMPLES / "scheduler.yaml"

NEXT: Final = """\
bayplan config show --expanded                      the table above, for any configuration
bayplan config check FILE --plugin my.py:MyPlugin   is it right, and does my plugin load?
bayplan conformance RECORDING                       do we decide as kube-scheduler did?
docs/guides/writing-a-plugin.md                     the contract, with a harness for your tests"""


@click.command(name="demo")
def command() -> None:
    """Watch a plugin at work on a few nodes in memory.

    Nothing is contacted and nothing is left behind.
    """
    _show_defaults()
    scheduler = _load_sample()
    _turn_down(scheduler)
    _place(scheduler)
    print_heading("\nWhat to try next")
    click.echo(NEXT)


def _show_defaults() -> None:
    from bayplan import config
    from bayplan.cli.expanded import expanded_rows

    print_heading("1. Without a configuration Bayplan runs kube-scheduler's default plugins, in its order")
    profile = config.default(registry(())).profiles[0]
    print_table(("extension point", "plugins (×weight)"), expanded_rows(profile))


def _load_sample() -> Scheduler:
    from bayplan.scheduler import Scheduler

    print_heading("\n2. A plugin is a Python class in a file")
    click.echo(PLUGIN.read_text())
    click.echo(f"Loaded by reference, {PLUGIN.name}:CpuNodes, and enabled by a configuration:\n")
    click.echo(CONFIGURATION.read_text())
    known = registry([f"{PLUGIN}:CpuNodes"])
    # A seed, because ties are broken at random and a demo should be the same every time.
    return Scheduler(load(str(CONFIGURATION), known), known, seed=0)


def _nodes() -> list[Node]:
    from bayplan.testing import make_node

    return [
        make_node("rack-1", cpu="8"),
        make_node("rack-2", cpu="8", labels={"cpu": "true"}, taints=["dedicated=db:NoSchedule"]),
        make_node("rack-3", cpu="2", labels={"cpu": "true"}),
        make_node("rack-4", cpu="16", labels={"cpu": "false"}),
    ]


def _turn_down(scheduler: Scheduler) -> None:
    """No node will do; the record tells why, node by node."""
    from bayplan.testing import make_pod

    print_heading("3. Four nodes, and the pod web-1, which asks for 3 cpu: no node will do")
    for node in _nodes():
        scheduler.cache.set_node(node)
    decision = _decide(scheduler, make_pod("web-1", cpu="3", memory="1Gi"))
    print_table(("node", "decided by", "reason"), reason_rows(decision.record))
    click.echo(f"\nThe pod's event says, as kube-scheduler's does:\n{decision.message}")


def _place(scheduler: Scheduler) -> None:
    """Two nodes get the label; the pods go where the scores say."""
    from bayplan.testing import make_node, make_pod

    print_heading("\n4. rack-1 and rack-4 get the label cpu=true: now two nodes will do, and scores decide")
    for name, cpu in (("rack-1", "8"), ("rack-4", "16")):
        scheduler.cache.set_node(make_node(name, cpu=cpu, labels={"cpu": "true"}))
    for number in range(1, 5):
        pod = make_pod(f"web-{number}", cpu="3", memory="1Gi")
        decision = _decide(scheduler, pod)
        if number == 1:
            nodes, rows = score_rows(decision.record)
            print_table(("weighted score", *nodes), rows, numbers=nodes)
            click.echo()
        click.echo(f"{pod.name} → {decision.node_name}  ({_totals(decision.record)})")
        scheduler.cache.assume(pod, decision.node_name)


def _decide(scheduler: Scheduler, pod: Pod) -> Decision:
    return scheduler.profiles["default-scheduler"].cycle.schedule(pod)


def _totals(record: Record) -> str:
    nodes, rows = score_rows(record)
    return ", ".join(f"{node} {total}" for node, total in zip(nodes, rows[-1][1:], strict=True))


def reason_rows(record: Record) -> list[tuple[str, str, str]]:
    """Of the record: for every node that was turned down, the plugin that did it and why."""
    if record.filter is None:
        return []
    return [
        (str(record.filter.nodes.names[position]), entry.plugin, entry.status(position).message)
        for position in range(len(record.filter.nodes))
        for entry in record.filter.decided
        if entry.where[position]
    ]


def score_rows(record: Record) -> tuple[Sequence[str], list[tuple[str, ...]]]:
    """Of the record: the nodes that were scored, and a row per plugin with what it gives each; last the totals."""
    if record.scores is None:
        return (), []
    rows = [
        (plugin, *(str(score) for score in scores.weighted.tolist()))
        for plugin, scores in record.scores.by_plugin.items()
    ]
    rows.append(("total", *(str(total) for total in record.scores.totals.tolist())))
    return [str(name) for name in record.scores.nodes.names], rows
