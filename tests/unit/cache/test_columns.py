"""Columns and their groups; after any changes, every column equals that of a fresh cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bayplan.cache import Cache, CacheSnapshot
from bayplan.cache.columns import MAX_QUERIES, Column, CountColumn, PodCountColumns, ResourceColumns
from bayplan.framework import CountClasses, Domains, PodQuery, TermKind
from bayplan.model import HostPort, Node, Pod, compile_node_selector, selector_from_labels
from bayplan.model.pod_fields import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
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


VOLUMES: dict[str, dict[str, Any]] = {
    "claim": {"persistentVolumeClaim": {"claimName": "c"}},
    "disk": {"gcePersistentDisk": {"pdName": "d"}},
    "token": {"projected": {}},
}


def _pod(
    name: str,
    node: str,
    app: str,
    cpu: str | None,
    with_port: bool,
    terminating: bool,
    anti: bool,
    volumes: list[str],
) -> Pod:
    container: dict[str, Any] = {"name": "main", "resources": {"requests": {"cpu": cpu} if cpu else {}}}
    # Each pod has its own port: whether a shared port is in use depends on the order in which pods are removed.
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
            "volumes": [{"name": name, **VOLUMES[name]} for name in volumes],
            "priority": ord(app),
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
    st.lists(st.sampled_from(sorted(VOLUMES)), max_size=2, unique=True),
)


def shown(snapshot: CacheSnapshot) -> dict[str, Any]:
    """Everything that plugins can read, by node name, because row numbers may differ."""
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
        "attachable volumes": table.attachable_volumes(),
        "exclusive disks": table.exclusive_disks(),
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
    return {
        **facts,
        "spread": [table.image_spread("app:1"), table.image_spread("app:2")],
        "has terms": table.has_affinity_terms,
        "lowest priority": snapshot.lowest_priority,
    }


class CacheMachine(RuleBasedStateMachine):
    """Changes in any order, compared with a fresh cache of the final state."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.assumed: set[str] = set()
        # From their first use on, these columns are updated by ±1.
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
        """Within a what-if, the pods are gone; afterwards, nothing has changed."""
        placed = [pod for pod in self.pods.values() if pod.spec.node_name in self.nodes]
        gone = data.draw(
            st.lists(st.sampled_from(placed), unique_by=lambda pod: pod.uid) if placed else st.just([])
        )
        before = shown(self.cache.snapshot())
        with self.cache.snapshot().what_if() as what_if:
            for pod in gone:
                row = self.cache.snapshot().row(pod.node_name)
                assert row is not None
                what_if.remove(row, pod)
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
    """Existing columns grow with the number of nodes."""
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


def test_views_are_read_only_and_live() -> None:
    """They cover the nodes, not the capacity; growing makes new ones."""
    column = Column(4, np.int64)
    view = column.view(3)
    column.data[1] = 7
    assert view.tolist() == [0, 7, 0]
    assert column.view(3) is view
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    column.grow(8)
    assert column.view(5).tolist() == [0, 7, 0, 0, 0]


def test_moved_row_leaves_the_fill_value() -> None:
    column = Column(3, np.int32, fill=-1)
    column.data[2] = 5
    column.move(2, 0)
    assert column.data.tolist() == [5, -1, -1]


def test_sums_over_domains_follow_the_counts() -> None:
    """The same array shows later changes; equal to a new sum."""
    column, domains = CountColumn(4), Domains(np.array([0, 1, 0]), 2)
    column.change(0, +1)
    sums = column.in_domains(domains)
    column.change(2, +1)
    column.change(1, +1)
    column.change(1, -1)
    assert sums.tolist() == [2, 0]
    assert column.in_domains(domains) is sums
    assert column.total == 2
    column.forget_domains()
    assert column.in_domains(domains) is not sums


def test_count_classes_are_copies() -> None:
    """What was returned stays as it was; a new one equals that of the counts."""
    column, domains = CountColumn(4), Domains(np.array([0, 1, 0]), 2)
    before = column.classes(domains)
    for _ in range(3):
        column.change(2, +1)
    after, expected = column.classes(domains), CountClasses.of(column.data[:3], domains)
    assert before.classes.tolist() == [0, 1, 0]
    assert after.classes.tolist() == expected.classes.tolist()
    assert after.sizes.tolist() == expected.sizes.tolist()


def test_least_recently_used_query_is_dropped() -> None:
    """Counted again when it is used again, and correct again."""
    counts = PodCountColumns(2)
    counts.add_pod(0, make_pod("p", labels={"app": "a"}))
    used, dropped, *others = (
        PodQuery(frozenset({"default"}), (selector_from_labels({"app": app}),))
        for app in ("a", "b", *map(str, range(MAX_QUERIES - 1)))
    )
    columns = [counts.column(query) for query in (used, dropped)]
    for query in others:
        counts.column(used)
        counts.column(query)
    assert counts.column(used) is columns[0]
    counts.add_pod(1, make_pod("q", labels={"app": "b"}))
    assert columns[1].data.tolist() == [0, 0]
    assert counts.column(dropped).data.tolist() == [0, 1]


def test_resources_have_columns_on_first_use() -> None:
    """Of a node that offers them, or a pod that requests them."""
    resources = ResourceColumns(2)
    resources.set_node(0, make_node("a", cpu="2", resources={"example.com/gpu": "4"}), None)
    resources.add_pod(1, pod := make_pod("p", requests={"example.com/fpga": "3"}))
    assert resources.allocatable["example.com/gpu"].data.tolist() == [4, 0]
    assert list(resources.requested) == ["example.com/fpga"]
    assert resources.requested["example.com/fpga"].data.tolist() == [0, 3]
    assert resources.nonzero["cpu"].data.tolist() == [0, 100]
    resources.remove_pod(1, pod)
    assert not any(column.data.any() for column in (*resources.requested.values(), *resources.nonzero.values()))
