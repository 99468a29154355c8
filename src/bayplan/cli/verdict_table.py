"""The table of verdicts in a record: the result of each plugin for each node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.observe.record import Record

PASSED = "ok"
REJECTED = "✗"
NOT_CALLED = "·"


def verdict_rows(record: Record) -> tuple[list[str], list[tuple[str, ...]]]:
    """Headings and rows: one row per node, one column per plugin that rejected a node, and the reason."""
    if record.filter is None:
        return [], []
    decided = record.filter.decided
    plugins = list(dict.fromkeys(entry.plugin for entry in decided))
    rows = []
    for position in range(len(record.filter.nodes)):
        entry = next((each for each in decided if each.where[position]), None)
        cells, reason = _cells(plugins, entry.plugin if entry else None), ""
        if entry is not None:
            reason = entry.status(position).message
        rows.append((str(record.filter.nodes.names[position]), *cells, reason))
    return ["node", *plugins, "reason"], rows


def _cells(plugins: list[str], rejected_by: str | None) -> list[str]:
    if rejected_by is None:
        return [PASSED] * len(plugins)
    place = plugins.index(rejected_by)
    return [PASSED] * place + [REJECTED] + [NOT_CALLED] * (len(plugins) - place - 1)
