"""Instruments: counters, gauges and histograms that cost a fraction of a microsecond to use.

The hot path counts in plain numbers, without locks, because everything runs on one event loop; prometheus-client's
own metrics would take several times as long. That library only writes the text at a scrape: a `MetricsRegistry` is
one of its collectors.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Final, Generic, TypeVar

from prometheus_client.core import CollectorRegistry, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4

STABLE: Final = "STABLE"
BETA: Final = "BETA"
ALPHA: Final = "ALPHA"


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bucket bounds as Go's ExponentialBuckets makes them, rounding errors included."""
    bounds = []
    for _ in range(count):
        bounds.append(start)
        start *= factor
    return tuple(bounds)


class Number:
    """The value of a counter or a gauge for one set of labels."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0.0

    def inc(self, amount: float = 1) -> None:
        self.value += amount

    def set(self, value: float) -> None:
        self.value = value


class Distribution:
    """The buckets of a histogram for one set of labels."""

    __slots__ = ("_bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        #: Observations per bucket, not cumulative; the last bucket is above every bound.
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self._bounds, value)] += 1
        self.sum += value


C = TypeVar("C", Number, Distribution)


class Family(Generic[C]):
    """A metric with its label names; `labels` gives the child to count with, always the same object."""

    kind: str = ""

    def __init__(self, name: str, text: str, *labels: str, new: Callable[[], C], stability: str = "") -> None:
        """*new* creates a child."""
        self.name: Final = name
        self.text: Final = f"[{stability}] {text}" if stability else text
        self.label_names: Final = labels
        self._new: Final[Callable[[], C]] = new
        self._children: dict[tuple[str, ...], C] = {}

    def labels(self, *values: str) -> C:
        child = self._children.get(values)
        if child is None:
            if len(values) != len(self.label_names):
                raise ValueError(f"{self.name} has the labels {self.label_names}, not {len(values)} of them")
            child = self._children[values] = self._new()
        return child

    def clear(self) -> None:
        """Drop all children: for gauges that are computed at every scrape."""
        self._children.clear()

    def __iter__(self) -> Iterator[tuple[dict[str, str], C]]:
        for values, child in self._children.items():
            yield dict(zip(self.label_names, values, strict=True)), child

    def collect(self) -> Metric:
        """The family in prometheus-client's form."""
        raise NotImplementedError


class _Numbers(Family[Number]):
    def __init__(self, name: str, text: str, *labels: str, stability: str = "") -> None:
        super().__init__(name, text, *labels, new=Number, stability=stability)

    def collect(self) -> Metric:
        # prometheus-client adds the suffix of a counter's name itself.
        metric = Metric(
            self.name.removesuffix("_total") if self.kind == "counter" else self.name, self.text, self.kind
        )
        for labels, number in self:
            metric.add_sample(self.name, labels, number.value)
        return metric


class Counter(_Numbers):
    """Only ever grows; its name ends in `_total`."""

    kind = "counter"


class Gauge(_Numbers):
    """Goes up and down."""

    kind = "gauge"


class Histogram(Family[Distribution]):
    """Observations in buckets."""

    kind = "histogram"

    def __init__(
        self, name: str, text: str, *labels: str, buckets: tuple[float, ...], stability: str = ""
    ) -> None:
        super().__init__(name, text, *labels, new=partial(Distribution, buckets), stability=stability)
        self.bounds: Final = buckets
        self._bound_texts = (*(_go_text(bound) for bound in buckets), "+Inf")

    def collect(self) -> Metric:
        metric = Metric(self.name, self.text, self.kind)
        for labels, distribution in self:
            total = 0
            for bound, count in zip(self._bound_texts, distribution.counts, strict=True):
                total += count
                metric.add_sample(f"{self.name}_bucket", {**labels, "le": bound}, total)
            metric.add_sample(f"{self.name}_sum", labels, distribution.sum)
            metric.add_sample(f"{self.name}_count", labels, total)
        return metric


def _go_text(bound: float) -> str:
    """As Go prints it: `1`, where prometheus-client writes `1.0`. Rules and dashboards compare the text."""
    text: str = floatToGoString(bound)  # type: ignore[no-untyped-call]
    return text.removesuffix(".0")


class MetricsRegistry(Collector):
    """Families, in the order of their names. Families without children are left out, as in Go."""

    def __init__(self, disabled: Collection[str] = ()) -> None:
        """*disabled*: names of families that are not shown."""
        self._families: dict[str, Family[Number] | Family[Distribution]] = {}
        self._before: list[Callable[[], None]] = []
        self._disabled = frozenset(disabled)
        self._exposed = CollectorRegistry(auto_describe=False)
        self._exposed.register(self)

    def add(self, *families: Family[Number] | Family[Distribution]) -> None:
        for family in families:
            if family.name in self._families:
                raise ValueError(f"the metric {family.name} is registered already")
            self._families[family.name] = family
            if not family.label_names:
                family.labels()  # a metric without labels exists from the start, and is 0

    def remove(self, name: str) -> None:
        """Scrape this family no more."""
        del self._families[name]

    def before_scrape(self, refresh: Callable[[], None]) -> None:
        """Call *refresh* before every scrape, to set gauges."""
        self._before.append(refresh)

    def register(self, collector: Callable[[CollectorRegistry], object]) -> None:
        """Add a collector of prometheus-client; *collector* is called with the registry to add itself to."""
        collector(self._exposed)

    def collect(self) -> Iterator[Metric]:
        for refresh in self._before:
            refresh()
        for name in sorted(self._families.keys() - self._disabled):
            metric = self._families[name].collect()
            if metric.samples:
                yield metric

    def text(self) -> bytes:
        """All metrics, in Prometheus' text format."""
        return generate_latest(self._exposed)
