"""The text of answers to questions of capacity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from bayplan.cli.tables import plain_lines

if TYPE_CHECKING:
    from bayplan.cli.explanation_text import TextForm
    from bayplan.explain.capacity.capacity_answers import CapacityReport, DrainPlan, MovedPod, SizeReport


def capacity_lines(report: CapacityReport, form: TextForm) -> Iterator[str]:
    yield from (click.style(line, bold=True) for line in form.wrapped(report.summary))
    yield ""
    rows = [
        (each.pool, str(each.n_nodes), str(each.fits), ", ".join(f"{x.count} {x.reason}" for x in each.limits))
        for each in report.pools
    ]
    headings = ("POOL", "NODES", "FITS", "THEN")
    yield from plain_lines(headings, rows, ("NODES", "FITS"), width=form.width)


def drain_lines(plan: DrainPlan, form: TextForm) -> Iterator[str]:
    yield from (click.style(line, bold=True) for line in form.wrapped(plan.summary))
    if plan.moves:
        yield ""
        rows = [(f"{each.pod.namespace}/{each.pod.name}", each.from_node, *_target(each)) for each in plan.moves]
        yield from plain_lines(("POD", "FROM", "TO", "NOTE"), rows, width=form.width)
    if plan.budgets:
        yield ""
        yield "Budgets in the way"
        for budget in plan.budgets:
            yield from form.wrapped(f"{budget.namespace}/{budget.name}: {budget.message}", "  ", "    ")
    if plan.staying:
        yield ""
        names = form.names([f"{each.namespace}/{each.name}" for each in plan.staying])
        yield from form.wrapped(f"These belong to their node and stay: {names}")


def _target(move: MovedPod) -> tuple[str, str]:
    note = "nothing makes it anew" if move.unmanaged else ""
    if move.to_node:
        return move.to_node, note
    return "-", "; ".join(part for part in (move.message, note) if part)


def size_lines(report: SizeReport, form: TextForm) -> Iterator[str]:
    yield from (click.style(line, bold=True) for line in form.wrapped(report.summary))
    yield ""
    rows = [
        (
            each.pool,
            str(each.new_nodes) if each.placed == each.n_pods else "-",
            f"{each.placed} of {each.n_pods}",
            each.message or ", ".join(f"{amount} {name}" for name, amount in each.shape.items()),
        )
        for each in report.pools
    ]
    headings = ("POOL", "NEW NODES", "PODS", "A NODE HAS, OR WHY NOT")
    yield from plain_lines(headings, rows, ("NEW NODES",), width=form.width)
