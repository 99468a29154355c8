"""However nodes and pods come, change and go: every column equals that of a cache built afresh."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bayplan.cache import Cache
from bayplan.cache.snapshot import CacheSnapshot
from bayplan.framework import PodQuery, TermKind
from bayplan.model import HostPort, Node, Pod, compile_node_selector, selector_from_labels
from bayplan.model.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from bayplan.testing import make_node, make_pod

NODE_NAMES = [f"n{i}" for i in range(5)]
POD_NAMES = [f"p{i}" for i in range(8)]
QUERIES = [
    PodQuery(frozenset({"default"}), (selector_from_labels({"app": app}),), terminating)
    for app in ("a", "b")
    for terminating in (True, False)
] + [PodQuery(frozenset({"default", "other"}), (), True)]
PORTS = [HostPort("0.0.0.0", "TCP", 80), HostPort("10.0.0.1", "TCP", 81), HostPort("0.0.0.0", "UDP", 53)]  # noqa: S104
SELECTORS = [
    compile_node_selector(
        NodeSelector(
            node_selector_terms=(
                NodeSelectorTerm(
                    match_expressions=(NodeSelectorRequirement(key="zone", operator=operator, values=values),)
                ),
            )
        )
    )
    for operator, values in (("In", ("z0", "z1")), ("NotIn", ("z0",)), ("Exists", ()), ("DoesNotExist", ()))
]

nodes = st.builds(
    lambda name, zone, cpu, tainted, cordoned, gpu, image: make_node(
        name,
        cpu=cpu,
        labels={"zone": zone} if zone else {},
        taints=["dedicated=x:NoSchedule"] if tainted else [],
        unschedulable=cordoned,
        resources={"example.com/gpu": "4"} if gpu else {},
        status={"images": [{"names": [image], "sizeBytes": 1000}]} if image else None,
    ),
    st.sampled_from(NODE_NAMES),
    st.sampled_from(["", "z0", "z1", "z2"]),
    st.sampled_from(["2", "4", "500m"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["", "app:1", "app:2"]),
)

AFFINITY: dict[str, Any] = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
        ],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 5,
                "podAffinityTerm": {"labelSelector": {"matchLabels": {"app": "b"}}, "topologyKey": "zone"},
            }
        ],
    }
}


def _pod(
    name: str, node: str, app: str, cpu: str | None, with_port: bool, terminating: bool, anti: bool, claim: bool
) -> Pod:
    container: dict[str, Any] = {"name": "main", "resources": {"requests": {"cpu": cpu} if cpu else {}}}
    # One pod has one port: what becomes of a port that two pods of a node share depends on who goes first.
    port = PORTS[POD_NAMES.index(name)] if with_port and name in POD_NAMES[: len(PORTS)] else None
    if port is not None:
        container["ports"] = [{"hostPort": port.port, "protocol": port.protocol, "hostIP": port.ip}]
    return make_pod(
        name,
        labels={"app": app},
        node_name=node,
        metadata={
            "uid": f"uid-{name}",
            **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if terminating else {}),
        },
        spec={
            "containers": [container],
            **({"affinity": AFFINITY} if anti else {}),
            **({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]} if claim else {}),
        },
    )


pods = st.builds(
    _pod,
    st.sampled_from(POD_NAMES),
    st.sampled_from(NODE_NAMES),
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([None, "100m", "1"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


def shown(snapshot: CacheSnapshot) -> dict[str, Any]:
    """Everything that plugins can see, by node name, so that rows may differ."""
    table = snapshot.nodes
    facts: dict[str, dict[str, Any]] = {str(name): {} for name in table.names}
    columns: dict[str, Any] = {
        "allocatable cpu": table.allocatable("cpu"),
        "allocatable gpu": table.allocatable("example.com/gpu"),
        "requested cpu": table.requested("cpu"),
        "nonzero cpu": table.nonzero_requested("cpu"),
        "nonzero memory": table.nonzero_requested("memory"),
        "pods": table.pod_counts(),
        "unschedulable": table.unschedulable(),
        "zone": table.label("zone").to_list(),
        "hostname": table.label("kubernetes.io/hostname").to_list(),
        "image 1": table.image_size("app:1"),
        "image 2": table.image_size("app:2"),
        "claim": table.claim_users("default/c"),
    }
    columns.update({f"query {i}": table.count_pods(query) for i, query in enumerate(QUERIES)})
    for key in ("zone", "kubernetes.io/hostname"):
        at_nodes = table.domains(key).at_nodes
        columns.update(
            {f"{key} {i}": at_nodes(table.count_pods_in_domains(key, query)) for i, query in enumerate(QUERIES)}
        )
        for i, query in enumerate(QUERIES):
            classes, sizes = table.count_classes(key, query)
            columns[f"{key} {i} count"] = (classes - table.domains(key).of_node) // table.domains(key).n_entries
            columns[f"{key} {i} nodes alike"] = sizes.take(classes)
    columns.update({f"port {i}": table.ports_taken([port]) for i, port in enumerate(PORTS)})
    columns.update({f"selector {i}": table.matches(selector) for i, selector in enumerate(SELECTORS)})
    for kind in TermKind:
        for column in table.affinity_terms(kind):
            columns[f"{kind} {column.term} {column.weight}"] = column.carriers
            in_domains = table.domains(column.term.topology_key).at_nodes(column.in_domains)
            columns[f"{kind} {column.term} {column.weight} in domains"] = in_domains
    codes, sets = table.taint_sets()
    columns["taints"] = [[str(taint) for taint in sets[code]] for code in codes]
    for title, column in columns.items():
        for i, name in enumerate(table.names):
            value = column[i]
            facts[str(name)][title] = value.item() if isinstance(value, np.generic) else value
    for i, name in enumerate(table.names):
        facts[str(name)]["on node"] = sorted(pod.key for pod in table[i].pods)
    return {**facts, "spread": [table.image_spread("app:1"), table.image_spread("app:2")]}


class CacheMachine(RuleBasedStateMachine):
    """Changes in any order, against what a fresh cache makes of the end result."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.assumed: set[str] = set()
        # Asked once, these columns are kept by ±1 from the beginning.
        shown(self.cache.snapshot())

    @rule(node=nodes)
    def set_node(self, node: Node) -> None:
        self.cache.set_node(node)
        self.nodes[node.name] = node

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def remove_node(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        self.cache.remove_node(name)
        del self.nodes[name]

    @rule(pod=pods)
    def add_or_update_pod(self, pod: Pod) -> None:
        self.cache.add_pod(pod)
        self.pods[pod.uid] = pod
        self.assumed.discard(pod.uid)

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        self.cache.remove_pod(uid)
        del self.pods[uid]
        self.assumed.discard(uid)

    @rule(pod=pods, node=st.sampled_from(NODE_NAMES))
    def assume(self, pod: Pod, node: str) -> None:
        if pod.uid not in self.pods:
            self.pods[pod.uid] = self.cache.assume(pod, node)
            self.assumed.add(pod.uid)

    @precondition(lambda self: self.assumed)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.assumed)))
        self.cache.forget(uid)
        self.assumed.remove(uid)
        del self.pods[uid]

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def what_if(self, data: st.DataObject) -> None:
        """A what-if shows the cluster without the pods, and leaves no trace."""
        placed = [pod for pod in self.pods.values() if pod.spec.node_name in self.nodes]
        gone = data.draw(
            st.lists(st.sampled_from(placed), unique_by=lambda pod: pod.uid) if placed else st.just([])
        )
        before = shown(self.cache.snapshot())
        with self.cache.snapshot().without(gone):
            uids = {pod.uid for pod in gone}
            assert shown(self.cache.snapshot()) == shown(self._fresh(without=uids).snapshot())
        assert shown(self.cache.snapshot()) == before

    def _fresh(self, without: frozenset[str] | set[str] = frozenset()) -> Cache:
        cache = Cache()
        for node in self.nodes.values():
            cache.set_node(node)
        for uid, pod in self.pods.items():
            if uid not in without:
                cache.add_pod(pod)
        return cache

    @invariant()
    def columns_equal_a_fresh_cache(self) -> None:
        assert shown(self.cache.snapshot()) == shown(self._fresh().snapshot())


CacheMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=25)
TestColumns = CacheMachine.TestCase


def test_many_nodes_outgrow_the_first_capacity() -> None:
    """Columns that exist already grow with the nodes."""
    cache = Cache()
    cache.set_node(make_node("first", labels={"zone": "z0"}))
    cache.add_pod(make_pod("p", cpu="1", labels={"app": "a"}, node_name="first"))
    shown(cache.snapshot())
    for i in range(300):
        cache.set_node(make_node(f"n{i}", labels={"zone": f"z{i % 3}"}))
    table = cache.snapshot().nodes
    assert len(table) == 301
    assert table.requested("cpu")[0] == 1000
    assert table.count_pods(QUERIES[0]).sum() == 1
    assert int(np.count_nonzero(table.label("zone") == "z0")) == 101
