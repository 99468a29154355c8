"""Which plugins look at the pods on a node, for an extender that is sent nodes without pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Final

from bayplan.framework import Plugin, Reads

#: Attributes of nodes and tables that tell about the pods there.
_USAGE: Final = frozenset(
    {
        "affinity_terms",
        "amounts_at",
        "claim_users",
        "count_classes",
        "count_pods",
        "count_pods_in_domains",
        "nonzero_requested",
        "pod_counts",
        "pods",
        "ports_taken",
        "requested",
    }
)


def usage_based(plugins: Iterable[Plugin]) -> list[str]:
    """The names of the plugins that say so in `reads`, or else read one of these attributes."""
    return [plugin.name for plugin in plugins if _is_usage_based(plugin)]


def _is_usage_based(plugin: Plugin) -> bool:
    if Reads.ANYTHING not in plugin.reads:
        return bool(plugin.reads & (Reads.RESOURCES | Reads.USAGE))
    functions = [
        value
        for cls in type(plugin).__mro__
        if cls not in (Plugin, object)
        for value in vars(cls).values()
        if isinstance(value, FunctionType)
    ]
    codes = [code for function in functions for code in _codes(function.__code__)]
    return any(not _USAGE.isdisjoint(code.co_names) for code in codes)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
