"""The text of `bayplan shadow`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bayplan.cli.tables import plain_lines

if TYPE_CHECKING:
    from bayplan.shadow.shadow_record import ConfigAgreement, ShadowRecord, ShadowSummary


def record_line(record: ShadowRecord) -> str:
    """One pod, in one line."""
    best = ", ".join(record.best) + (", …" if record.n_best > len(record.best) else "")
    reason = f"; {record.reason}" if record.reason else ""
    pod = f"{record.pod.namespace}/{record.pod.name}"
    return f"[{record.config}] {pod}: {record.class_}: on {record.node}, Bayplan: {best or 'nowhere'}{reason}"


def summary_lines(summary: ShadowSummary) -> Iterator[str]:
    if not summary.configs:
        yield "No pods were placed."
    for number, agreement in enumerate(summary.configs):
        if number:
            yield ""
        yield from _agreement_lines(agreement)
    unexplained = summary.real
    if unexplained:
        yield ""
        yield "Unexplained:"
        yield from (f"  {record_line(record)}" for record in unexplained)


def _agreement_lines(agreement: ConfigAgreement) -> Iterator[str]:
    from bayplan.shadow.shadow_record import MEANINGS

    n_placed = agreement.n_placed
    if not n_placed:
        yield f"{agreement.config}: no pods were placed."
        return
    yield f"{agreement.config}: {n_placed} pods placed, {agreement.agreement:.1%} agreement"
    rows = [
        [f"  {name}", str(agreement.classes.get(name, 0)), meaning]
        for name, meaning in MEANINGS.items()
        if agreement.classes.get(name) or name in ("same", "real")
    ]
    yield from plain_lines(("", "n", ""), rows, ("n",))
    if agreement.max_better:
        mean, most = agreement.mean_better, agreement.max_better
        yield f"  better nodes outside the sample: {mean} on average, {most} at most"
