"""A plugin on a bench: one cluster in a cache, one plugin, its answers by node name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec
import numpy as np

from bayplan.framework import (
    CycleState,
    DirectEvaluator,
    NodeTable,
    Plugin,
    PluginCaller,
    PluginMethod,
    PreFilterResult,
    Scorer,
    Status,
)
from bayplan.framework.plugin import defines
from bayplan.framework.points import POINT_BY_NAME
from bayplan.model import Node, Pod
from bayplan.release import DEFAULT
from bayplan.testing import Harness

P = TypeVar("P", bound=Plugin)


class Bench:
    """Nodes and the pods on them; asks a plugin as the runner would."""

    def __init__(self, nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), release: str = DEFAULT.minor) -> None:
        harness = Harness(nodes=nodes, pods=pods, release=release)
        self.core = harness.core
        self.cache = harness.core.cache
        self.objects = harness.core.objects
        self.handle = harness.profile().handle

    def give(self, **parts: Any) -> None:
        """Put something else into the handles: of the profile, and of each of its plugins."""
        plugins = self.core.profiles["default-scheduler"].plugins.plugins.values()
        for handle in (self.handle, *(plugin.handle for plugin in plugins)):
            for name, part in parts.items():
                setattr(handle, name, part)

    @property
    def nodes(self) -> NodeTable:
        return self.cache.snapshot().nodes

    def plugin(self, cls: type[P], args: Mapping[str, Any] | None = None) -> P:
        """The plugin with arguments as they stand in `pluginConfig`."""
        decoded = None if cls.Args is None else msgspec.convert(args or {}, cls.Args).defaulted()
        return cls(decoded, self.handle)

    def pre_filter(self, plugin: Any, pod: Pod, state: CycleState | None = None) -> Any:
        return plugin.pre_filter(CycleState() if state is None else state, pod, self.nodes)

    def rejections(self, plugin: Any, pod: Pod) -> dict[str, Status]:
        """Node → why it is rejected; nodes that pass are left out."""
        state = CycleState()
        if defines(plugin, "pre_filter"):
            answer = self.pre_filter(plugin, pod, state)
            if isinstance(answer, Status) and answer.is_skip:
                return {}
            assert answer is None or isinstance(answer, PreFilterResult) or answer.is_success
        verdict = plugin.filter_nodes(state, pod, self.nodes)
        names = self.nodes.names
        return {names[i]: verdict.status(i) for i in np.flatnonzero(verdict.rejected).tolist()}

    def scores(self, plugin: Any, pod: Pod, *among: str) -> dict[str, int] | None:
        """Node → normalised score, for all nodes or those *among*; None if PreScore skips the plugin."""
        state, nodes = CycleState(), self.nodes
        if among:
            nodes = nodes.select(np.array([nodes.position(name) for name in among]))
        if defines(plugin, "pre_score"):
            answer = plugin.pre_score(state, pod, nodes)
            if answer is not None and answer.is_skip:
                return None
            assert answer is None, answer
        point = POINT_BY_NAME["score"]
        normalize = PluginMethod(plugin, "normalize_score", point) if defines(plugin, "normalize_score") else None
        scorer = Scorer(PluginMethod(plugin, "score_nodes", point), normalize, weight=1)
        scores = DirectEvaluator(PluginCaller()).scores(scorer, state, pod, nodes)
        assert not isinstance(scores, Status), scores
        return dict(zip(nodes.names.tolist(), scores.normalized.tolist(), strict=True))
