"""`bayplan plugin bench`: what a plugin costs."""

from __future__ import annotations

import click

from bayplan.cli.plugin_reference import load_classes
from bayplan.cli.tables import print_heading, print_table

#: Below this a column form would win nothing worth having.
WORTH_SECONDS = 200e-6


@click.command(name="bench")
@click.argument("reference", metavar="FILE[:CLASS]")
def command(reference: str) -> None:
    """Measure the plugin CLASS in FILE, or all of FILE.

    Schedules pods with the default plugins, with and without yours in turns, on 100, 1,000 and 5,000 nodes, and
    tells the difference in CPU time.
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
                "\nIt is asked about one node at a time. Asked about all at once, as filter_nodes or score_nodes, "
                "it would cost next to nothing: docs/guides/writing-a-plugin.md, All nodes at once."
            )
