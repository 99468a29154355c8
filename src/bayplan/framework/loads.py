"""Measured load: what a source of metrics says the nodes do.

A plugin asks for the feed of a source when it is constructed, and reads the latest report from it. Whoever runs
the scheduler fetches the reports; a plugin does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

#: Types of metrics.
CPU_LOAD: Final = "CPU"
MEMORY_LOAD: Final = "Memory"
#: Operators: over a window of time, or as it was just now.
AVERAGE: Final = "AVG"
STANDARD_DEVIATION: Final = "STD"
LATEST: Final = "Latest"


class LoadSource(NamedTuple):
    """Where to ask: a provider of metrics, or a load watcher in its place."""

    #: KubernetesMetricsServer or Prometheus.
    provider: str
    address: str = ""
    token: str = ""
    insecure_skip_verify: bool = False
    watcher_address: str = ""


class Metric(NamedTuple):
    """One number about one node, in percent of what the node has."""

    type: str
    operator: str
    value: float


class LoadReport(NamedTuple):
    """What a source said at one time."""

    #: Seconds since the epoch: where the measured window ends.
    window_end: int
    #: Node → its metrics; a node that is not there is unknown to the source.
    nodes: Mapping[str, Sequence[Metric]]


class LoadFeed:
    """The latest report of a source; None until there is one."""

    def __init__(self, source: LoadSource) -> None:
        self.source = source
        self.report: LoadReport | None = None


class LoadFeeds:
    """The feeds that somebody asked for: those to be filled."""

    def __init__(self) -> None:
        self._feeds: dict[LoadSource, LoadFeed] = {}

    def feed(self, source: LoadSource) -> LoadFeed:
        """One and the same for everybody who asks for *source*."""
        return self._feeds.setdefault(source, LoadFeed(source))

    def __iter__(self) -> Iterator[LoadFeed]:
        return iter(tuple(self._feeds.values()))
