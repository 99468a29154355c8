"""Metrics of plugins: families that plugins declare through their handle, in the registry that is scraped.

A family belongs to the instances that declared it. The instances of one plugin (one per profile) share it, and
so does the instance that a reload puts in their place: its numbers go on. When the last of them ends, so does the
family.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from bayplan.framework import PluginError
from bayplan.framework.handle import DEFAULT_BUCKETS
from bayplan.observe.instruments import Counter, Gauge, Histogram, MetricsRegistry

AnyMetric = Counter | Gauge | Histogram
M = TypeVar("M", Counter, Gauge, Histogram)

#: Names of Kubernetes and Bayplan begin with these, and may appear in a later release.
RESERVED: Final = (
    "bayplan_",
    "go_",
    "kubernetes_",
    "leader_election_",
    "process_",
    "python_",
    "rest_client_",
    "scheduler_",
    "workqueue_",
)
_BUILT_IN: Final = "bayplan.plugins."
_NAME: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL: Final = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")


class MetricsOwner(Protocol):
    """One instance of a plugin."""

    @property
    def name(self) -> str:
        """The plugin's."""

    @property
    def plugin(self) -> object:
        """Its class: a reload makes another one."""


class _Use(NamedTuple):
    owner: MetricsOwner
    family: AnyMetric


class PluginMetrics:
    """The families of all plugins of a scheduler."""

    def __init__(self, registry: MetricsRegistry | None = None) -> None:
        self.registry: Final = registry if registry is not None else MetricsRegistry()
        #: Name → who uses it; the family of the first is the one that is scraped.
        self._uses: dict[str, list[_Use]] = {}

    def declare(self, owner: MetricsOwner, wanted: M) -> M:
        """*wanted*, or the family of the same name and form that the plugin has already."""
        name, uses = wanted.name, self._uses.setdefault(wanted.name, [])
        for use in uses:
            if use.owner.name != owner.name:
                raise PluginError(f"the metric {name} is one of plugin {use.owner.name}; choose another name")
            if _form(use.family) == _form(wanted):
                uses.append(_Use(owner, use.family))
                return use.family  # type: ignore[return-value]
            if use.owner.plugin is owner.plugin:
                raise PluginError(
                    f"the metric {name} is declared twice: as {_told(use.family)}, and as {_told(wanted)}"
                )
        uses.append(_Use(owner, wanted))
        if len(uses) == 1:
            self.registry.add(wanted)
        return wanted

    def release(self, owner: MetricsOwner) -> None:
        """The instance is not used any more."""
        for name, uses in list(self._uses.items()):
            left = [use for use in uses if use.owner is not owner]
            if left and left[0].family is uses[0].family:
                self._uses[name] = left
                continue
            self.registry.remove(name)
            del self._uses[name]
            if left:
                self._uses[name] = left
                self.registry.add(left[0].family)


class OwnMetrics:
    """Implements `framework.Metrics` for one plugin."""

    def __init__(self, metrics: PluginMetrics, owner: MetricsOwner) -> None:
        self._metrics = metrics
        self._owner = owner

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        self._check(name, labels)
        if not name.endswith("_total"):
            raise PluginError(f"the name of a counter ends in _total: {name}_total")
        return self._metrics.declare(self._owner, Counter(name, text, *labels))

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        self._check(name, labels)
        return self._metrics.declare(self._owner, Gauge(name, text, *labels))

    def histogram(
        self, name: str, text: str, *labels: str, buckets: Sequence[float] = DEFAULT_BUCKETS
    ) -> Histogram:
        self._check(name, labels)
        bounds = tuple(buckets)
        if "le" in labels:
            raise PluginError(f"the metric {name} cannot have the label le: it is that of the buckets")
        if not bounds or list(bounds) != sorted(set(bounds)) or not all(map(math.isfinite, bounds)):
            raise PluginError(f"the metric {name} needs buckets in growing order, not {bounds!r:.80}")
        return self._metrics.declare(self._owner, Histogram(name, text, *labels, buckets=bounds))

    def _check(self, name: str, labels: Sequence[str]) -> None:
        _check_names(name, labels)
        if name.startswith(RESERVED) and not _is_built_in(self._owner.plugin):
            prefix = next(prefix for prefix in RESERVED if name.startswith(prefix))
            raise PluginError(f"the metric {name} cannot begin with {prefix}: such names are the scheduler's own")


def _is_built_in(plugin: object) -> bool:
    """Whether its metrics are those of kube-scheduler; a profile's own handle has no plugin."""
    return plugin is None or getattr(plugin, "__module__", "").startswith(_BUILT_IN)


def _check_names(name: str, labels: Sequence[str]) -> None:
    if not _NAME.fullmatch(name):
        raise PluginError(f"{name!r} cannot be the name of a metric: use letters, digits and underscores")
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise PluginError(f"the metric {name}: {label!r} cannot be the name of a label")
    if len(set(labels)) != len(labels):
        raise PluginError(f"the metric {name} has a label twice: {', '.join(labels)}")


def _form(family: AnyMetric) -> tuple[Any, ...]:
    return family.kind, family.label_names, getattr(family, "bounds", ())


def _told(family: AnyMetric) -> str:
    labels = f"labels {', '.join(family.label_names)}" if family.label_names else "no labels"
    return f"a {family.kind} with {labels}"
