"""Plugins that an extender without a cluster cannot serve well."""

from __future__ import annotations

from typing import Any, cast

from bayplan.framework import Handle, Plugin, Reads
from bayplan.process.usage_plugins import usage_based


class Labels(Plugin):
    name = "Labels"

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        node.labels.get("disk")


class Busy(Plugin):
    name = "Busy"

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return sum(1 for each in [node] if each.requested)


class Fits(Plugin):
    name = "Fits"
    reads = Reads.RESOURCES


class Declared(Busy):
    """Says that it reads the node alone, and is believed."""

    name = "Declared"
    reads = Reads.NODE


def test_plugins_that_read_what_runs_on_a_node_are_found() -> None:
    """By what they declare, or else by their code."""
    plugins = [kind(None, cast("Handle", None)) for kind in (Labels, Busy, Fits, Declared)]
    assert usage_based(plugins) == ["Busy", "Fits"]
