"""Tables: drawn with rich on a terminal, plain text elsewhere."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import Final

import click

#: The width of plain text; a terminal has its own.
WIDTH: Final = 100


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()) -> None:
    """Print *rows* under *headings*; the columns named in *numbers* are aligned to the right.

    The last column is wrapped if it does not fit.
    """
    if sys.stdout.isatty():
        _print_rich(headings, rows, numbers)
    else:
        for line in plain_lines(headings, rows, numbers):
            click.echo(line)


def print_heading(text: str) -> None:
    click.echo(click.style(text, bold=True))


def _print_rich(headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right" if heading in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def plain_lines(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str] = (), *, width: int = WIDTH
) -> list[str]:
    """The table as text of at most *width* columns; headings first, if there are any."""
    every = [*([headings] if any(headings) else []), *rows]
    widths = [max(len(row[i]) for row in every) for i in range(len(headings))]
    lines = []
    for row in every:
        cells = [
            cell.rjust(own_width) if heading in numbers else cell.ljust(own_width)
            for cell, own_width, heading in zip(row, widths, headings, strict=True)
        ]
        indent = sum(widths[:-1]) + 2 * len(widths[:-1])
        wrapped = textwrap.wrap(cells[-1], max(width - indent, 20)) or [""]
        lines.append(("  ".join([*cells[:-1], wrapped[0]])).rstrip())
        lines += [" " * indent + more for more in wrapped[1:]]
    return lines
