"""`check_plugin`: the contract of a plugin, tried out on pods and nodes of many shapes.

Beyond what is looked over when a class is loaded (names, signatures), the plugin is run: alone and among the
default plugins, on nodes with and without labels, taints and pods, for pods with and without requests, selectors
and priorities. Found are exceptions, scores that end up outside 0 to 100, and answers that are not the same twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from bayplan.config import ConfigError
from bayplan.framework import Plugin, PluginError
from bayplan.framework.contract import check_class
from bayplan.model import Node, Pod
from bayplan.testing.builders import make_node, make_pod
from bayplan.testing.harness import Harness

if TYPE_CHECKING:
    from bayplan.cycle import Decision

MAX_SCORE: Final = 100


class PluginCheckError(AssertionError):
    """What is wrong with a plugin, finding by finding."""

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
    """What is wrong, in words for the author; nothing if nothing is."""
    try:
        check_class(plugin)
        alone = _harness(plugin, args, only=True)
        among = _harness(plugin, args, only=False)
    except (PluginError, ConfigError) as error:
        yield str(error)
        return
    seen = set()
    for pod in sample_pods():
        for harness in (alone, among):
            for fault in _faults_of(plugin.name, harness, pod):
                if fault not in seen:
                    seen.add(fault)
                    yield fault


def _harness(plugin: type[Plugin], args: Mapping[str, Any] | None, *, only: bool) -> Harness:
    others = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}] if only else []
    points = check_class(plugin)
    # One queue sort and no more: that of a plugin which brings its own replaces the default.
    if "queueSort" in points and others:
        others = others[1:]
    points_set: dict[str, Any] = {"enabled": [*others, {"name": plugin.name}]}
    if only:
        points_set["disabled"] = [{"name": "*"}]
    elif "queueSort" in points:
        points_set["disabled"] = [{"name": "PrioritySort"}]
    profile: dict[str, Any] = {"schedulerName": "default-scheduler", "plugins": {"multiPoint": points_set}}
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


def _faults_of(name: str, harness: Harness, pod: Pod) -> Iterator[str]:
    first, second = harness.decide(pod), harness.decide(pod)
    if not first.node_name and not first.status.is_rejection:
        yield f"for the pod {pod.name}: {first.message}"
        return
    yield from _score_faults(name, first)
    if _verdicts(first) != _verdicts(second):
        yield f"for the pod {pod.name}: asked twice about the same cluster, it answered differently"


def _score_faults(name: str, decision: Decision) -> Iterator[str]:
    own = decision.scores.by_plugin.get(name) if decision.scores is not None else None
    if own is None or not len(own.normalized):
        return
    least, most = int(own.normalized.min()), int(own.normalized.max())
    if least < 0 or most > MAX_SCORE:
        yield (
            f"scores between {least} and {most} after normalisation: they must be between 0 and {MAX_SCORE}; "
            "bring them there in normalize_score, bayplan.framework.default_normalize does it"
        )


def _verdicts(decision: Decision) -> object:
    record = decision.record
    feasible = record.filter.feasible.tolist() if record.filter is not None else None
    scores = record.scores
    by_plugin = (
        {plugin: own.raw.tolist() for plugin, own in scores.by_plugin.items()} if scores is not None else None
    )
    return feasible, by_plugin


def sample_nodes() -> list[Node]:
    """Nodes of many shapes: zones, labels, taints, cordons, small and full ones."""
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
    """Pending pods of many shapes."""
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
