"""`bayplan plugin bench`: measures the cost of a plugin."""

from __future__ import annotations

import click

from bayplan.cli.plugin.reference import load_classes
from bayplan.cli.tables import print_heading, print_table

#: Below this cost the column form is not worth recommending.
WORTH_SECONDS = 200e-6


@click.command(name="bench")
@click.argument("reference", metavar="FILE[:CLASS]")
def command(reference: str) -> None:
    """Measure the plugin CLASS in FILE, or every plugin in FILE.

    Schedules pods with the default plugins, alternating with and without yours, on 100, 1,000 and 5,000 nodes, and
    prints the difference in CPU time.
    """
    from bayplan.testing.cost import measure, prefers_columns

    for registration in load_classes(reference):
        plugin = registration.plugin
        print_heading(f"{plugin.name}: with the default plugins, medians of CPU time")
        costs = measure(plugin)
        rows = [
            (
                f"{cost.n_nodes:,}",
                f"{cost.per_node * 1e6:.2f}",
                f"{cost.own * 1e3:.2f}",
                f"{cost.decisions_per_second:,.0f}",
                f"{min(cost.share_left, 1.0):.0%}",
            )
            for cost in costs
        ]
        headings = ("nodes", "µs per node", "ms per decision", "decisions/s left", "of those without")
        print_table(headings, rows, numbers=headings)
        if prefers_columns(plugin) and costs[-1].own > WORTH_SECONDS:
            click.echo(
                "\nThe plugin is called for one node at a time. With filter_nodes or score_nodes, called once for "
                "all nodes, it would cost almost nothing: docs/guides/writing-a-plugin.md, All nodes at once."
            )
