"""Measured load of the nodes, from a metrics provider.

A plugin requests the feed of a source in its constructor, and reads the latest report from it. The scheduler's
service fetches the reports; a plugin does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

#: Types of metrics.
CPU_LOAD: Final = "CPU"
MEMORY_LOAD: Final = "Memory"
#: Operators: over a window of time, or the latest value.
AVERAGE: Final = "AVG"
STANDARD_DEVIATION: Final = "STD"
LATEST: Final = "Latest"


class LoadSource(NamedTuple):
    """Where reports come from: a metrics provider, or a load watcher instead of it."""

    #: KubernetesMetricsServer or Prometheus.
    provider: str
    address: str = ""
    token: str = ""
    insecure_skip_verify: bool = False
    watcher_address: str = ""


class Metric(NamedTuple):
    """One measurement of one node, in percent of the node's capacity."""

    type: str
    operator: str
    value: float


class LoadReport(NamedTuple):
    """The measurements of all nodes at one time."""

    #: Seconds since the epoch: where the measured window ends.
    window_end: int
    #: Node → its metrics; a node that is absent is unknown to the source.
    nodes: Mapping[str, Sequence[Metric]]


class LoadFeed:
    """The latest report of a source; None until there is one."""

    def __init__(self, source: LoadSource) -> None:
        self.source = source
        self.report: LoadReport | None = None


class LoadFeeds:
    """The feeds that plugins use, which are to be filled."""

    def __init__(self) -> None:
        self._feeds: dict[LoadSource, LoadFeed] = {}

    def feed(self, source: LoadSource) -> LoadFeed:
        """The feed of *source*, the same object for all plugins."""
        return self._feeds.setdefault(source, LoadFeed(source))

    def __iter__(self) -> Iterator[LoadFeed]:
        return iter(tuple(self._feeds.values()))
