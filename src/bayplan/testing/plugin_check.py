"""`check_plugin`: checks that a plugin keeps the contract, on a variety of pods and nodes.

In addition to the checks when a class is loaded (names, signatures), the plugin is run: alone and among the
default plugins, on nodes with and without labels, taints and pods, for pods with and without requests, selectors
and priorities. It finds exceptions, attempts to write to what is read-only, normalized scores outside 0 to 100,
results that differ between two calls, an order of the queue that cannot be computed, memory that grows with every
pod, and failures of background work and of `close`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

from bayplan.config import ConfigError
from bayplan.framework import Plugin, PluginError
from bayplan.framework.contract import check_class
from bayplan.model import Node, Pod
from bayplan.testing.builders import make_node, make_pod
from bayplan.testing.harness import Harness
from bayplan.testing.leaks import find_leak
from bayplan.testing.queue_check import find_queue_faults

if TYPE_CHECKING:
    from bayplan.core import Decision

#: How long background work of the plugin is watched, in the harness's time.
_BACKGROUND_SECONDS: Final = 60.0
_HINT: Final = "; scale scores in normalize_score, for example with bayplan.framework.default_normalize"


class PluginCheckError(AssertionError):
    """A plugin breaks the contract; `findings` lists how."""

    def __init__(self, plugin: str, findings: list[str]) -> None:
        self.findings = findings
        super().__init__(
            "\n".join([f"the plugin {plugin} breaks the contract:", *(f"- {each}" for each in findings)])
        )


def check_plugin(plugin: type[Plugin], args: Mapping[str, Any] | None = None) -> None:
    """Raise PluginCheckError if *plugin* breaks the contract; *args* are those of its pluginConfig."""
    findings = list(find_faults(plugin, args))
    if findings:
        raise PluginCheckError(getattr(plugin, "name", plugin.__name__), findings)


def find_faults(plugin: type[Plugin], args: Mapping[str, Any] | None = None) -> Iterator[str]:
    """The violations of the contract, worded for the author of the plugin."""
    try:
        points = check_class(plugin)
        alone = _harness(plugin, args, only=True)
        harnesses = [alone, _harness(plugin, args, only=False)]
        if {"filter", "score"} <= {*points}:
            # If its Filter rejects most nodes, its Score would hardly be called.
            harnesses.append(_harness(plugin, args, only=True, filters=False))
    except (PluginError, ConfigError) as error:
        yield str(error)
        return
    with ExitStack() as ending:
        for harness in harnesses:
            ending.callback(harness.close)
        yield from _faults_in(plugin, points, harnesses)
        for harness in harnesses:
            harness.wait(_BACKGROUND_SECONDS)
    yield from dict.fromkeys(
        f"its {each}" for harness in harnesses for each in _background_faults(harness, plugin)
    )


def _background_faults(harness: Harness, plugin: type[Plugin]) -> Iterator[str]:
    for failure in harness.failures:
        of, _, what = failure.partition(" ")
        if of == plugin.name:
            yield f"{what}; work of handle.spawn should handle its errors, and close must not fail"


def _faults_in(plugin: type[Plugin], points: tuple[str, ...], harnesses: list[Harness]) -> Iterator[str]:
    alone = harnesses[0]
    #: Violation → the pods for which it occurs.
    faults: dict[str, list[str]] = {}
    for pod in sample_pods():
        for fault in dict.fromkeys(fault for harness in harnesses for fault in _faults_of(harness, pod)):
            faults.setdefault(fault, []).append(pod.name)
    if "queueSort" in points:
        yield from find_queue_faults(alone.profile().plugins.plugins[plugin.name], sample_pods())
    for fault, pods in faults.items():
        others = f" and {len(pods) - 1} more" if len(pods) > 1 else ""
        yield f"for the pod {pods[0]}{others}: {fault}"
    if not faults:
        yield from find_leak(plugin, alone)


def _harness(plugin: type[Plugin], args: Mapping[str, Any] | None, *, only: bool, filters: bool = True) -> Harness:
    others = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}] if only else []
    points = check_class(plugin)
    # There can be only one QueueSort plugin, so one with a QueueSort of its own replaces the default.
    if "queueSort" in points and others:
        others = others[1:]
    points_set: dict[str, Any] = {"enabled": [*others, {"name": plugin.name}]}
    if only:
        points_set["disabled"] = [{"name": "*"}]
        if "score" not in points:
            # Without any scorer the first feasible node is taken, which differs each time.
            points_set["enabled"].append({"name": "ImageLocality"})
    elif "queueSort" in points:
        points_set["disabled"] = [{"name": "PrioritySort"}]
    profile: dict[str, Any] = {"schedulerName": "default-scheduler", "plugins": {"multiPoint": points_set}}
    if not filters:
        profile["plugins"]["filter"] = {"disabled": [{"name": plugin.name}]}
    if args is not None:
        profile["pluginConfig"] = [{"name": plugin.name, "args": dict(args)}]
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
    # JSON is YAML.
    return Harness(
        nodes=sample_nodes(), pods=_placed_pods(), plugins=[plugin], configuration=json.dumps(configuration)
    )


def _faults_of(harness: Harness, pod: Pod) -> Iterator[str]:
    first, second = harness.decide(pod), harness.decide(pod)
    if not first.node_name and not first.status.is_rejection:
        hint = _HINT if "invalid score" in first.message else ""
        yield f"{first.message}{hint}"
    elif _verdicts(first) != _verdicts(second):
        yield "two calls on the same cluster gave different results"


def _verdicts(decision: Decision) -> object:
    record = decision.record
    feasible = record.filter.feasible.tolist() if record.filter is not None else None
    scores = record.scores
    by_plugin = (
        {plugin: own.raw.tolist() for plugin, own in scores.by_plugin.items()} if scores is not None else None
    )
    return feasible, by_plugin


def sample_nodes() -> list[Node]:
    """A variety of nodes: zones, labels, taints, cordoned, small and full ones."""
    return [
        make_node("plain"),
        make_node("labelled", labels={"cpu": "true", "disk": "ssd", "topology.kubernetes.io/zone": "a"}),
        make_node("tainted", taints=["dedicated=db:NoSchedule", "soft=1:PreferNoSchedule"]),
        make_node("cordoned", unschedulable=True),
        make_node("small", cpu="500m", memory="512Mi", pods=2, labels={"topology.kubernetes.io/zone": "b"}),
        make_node("large", cpu="64", memory="512Gi", resources={"example.com/gpu": "8"}),
        make_node("bare", cpu="0", memory="0", pods=0),
    ]


def sample_pods() -> list[Pod]:
    """A variety of pending pods."""
    return [
        make_pod("plain"),
        make_pod("requests", cpu="1", memory="1Gi", labels={"app": "web"}),
        make_pod("gpu", requests={"example.com/gpu": "1"}),
        make_pod("selective", spec={"nodeSelector": {"disk": "ssd"}}),
        make_pod("tolerant", spec={"tolerations": [{"operator": "Exists"}]}, priority=1000),
        make_pod("annotated", metadata={"annotations": {"example.com/a": "b"}}, namespace="kube-system"),
        make_pod("huge", cpu="1000", memory="10Ti"),
    ]


def _placed_pods() -> list[Pod]:
    return [
        make_pod("placed-1", cpu="1", memory="1Gi", labels={"app": "web"}, node_name="plain"),
        make_pod("placed-2", cpu="2", labels={"app": "db"}, node_name="large", priority=10),
    ]
