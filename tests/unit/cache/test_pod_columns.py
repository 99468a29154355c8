"""Columns that only some pods change: affinity terms, host ports, volumes."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.cache import Cache
from bayplan.cache.pod_columns import AffinityTermColumns, HostPortColumns, VolumeColumns
from bayplan.framework import TermKind
from bayplan.model import HostPort, Pod
from bayplan.model.host_ports import ANY_ADDRESS
from bayplan.testing import make_node, make_pod


@pytest.mark.parametrize(
    ("source", "attachable", "exclusive"),
    [
        pytest.param({"persistentVolumeClaim": {"claimName": "c"}}, 1, 0, id="claim"),
        pytest.param({"ephemeral": {}}, 1, 0, id="generic ephemeral volume"),
        pytest.param({"gcePersistentDisk": {"pdName": "d"}}, 1, 1, id="GCE disk"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "d"}}, 1, 1, id="AWS disk"),
        pytest.param({"azureDisk": {"diskURI": "d"}}, 1, 0, id="Azure disk"),
        pytest.param({"iscsi": {"iqn": "q"}}, 0, 1, id="iSCSI"),
        pytest.param({"rbd": {"image": "i"}}, 0, 1, id="RBD"),
        pytest.param({"hostPath": {"path": "/"}}, 0, 0, id="host path"),
        pytest.param({"projected": {}}, 0, 0, id="projected"),
    ],
)
def test_counts_follow_the_pods(source: dict[str, Any], attachable: int, exclusive: int) -> None:
    """Counts move with the pods, through what-ifs and when another node takes the row."""
    cache = Cache()
    cache.set_node(make_node("gone"))
    cache.set_node(make_node("n"))
    pod = make_pod("p", node_name="n", spec={"volumes": [{"name": "v", **source}, {"name": "e", "emptyDir": {}}]})
    cache.add_pod(pod)
    nodes = cache.snapshot().nodes
    assert nodes.attachable_volumes().tolist() == [0, attachable]
    assert nodes.exclusive_disks().tolist() == [0, exclusive]
    with cache.snapshot().what_if() as what_if:
        what_if.remove(1, pod)
        assert not nodes.attachable_volumes().any()
    cache.remove_node("gone")
    nodes = cache.snapshot().nodes
    assert nodes.attachable_volumes().tolist() == [attachable]
    assert nodes.exclusive_disks().tolist() == [exclusive]
    cache.remove_pod(pod.uid)
    assert not nodes.exclusive_disks().any()


def pod_with(app: str, *, weight: int = 0) -> Pod:
    """A pod with anti-affinity to pods of *app*: preferred if a weight is given, else required."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "zone"}
    weighted = [{"weight": weight, "podAffinityTerm": term}] if weight else []
    rules = {
        "requiredDuringSchedulingIgnoredDuringExecution": [] if weight else [term],
        "preferredDuringSchedulingIgnoredDuringExecution": weighted,
    }
    return make_pod(f"not-{app}-{weight}", spec={"affinity": {"podAntiAffinity": rules}})


def test_equal_terms_share_a_column() -> None:
    """As long as a pod has the term; the weight is part of it."""
    terms = AffinityTermColumns(4)
    kind = TermKind.PREFERRED_ANTI_AFFINITY
    for row, pod in enumerate([pod_with("a", weight=1), pod_with("a", weight=1), pod_with("a", weight=2)]):
        terms.add_pod(row, pod)
    assert [column.data.tolist() for column in terms.columns(kind).values()] == [[1, 1, 0, 0], [0, 0, 1, 0]]
    assert terms.n_distinct == 2
    terms.remove_pod(2, pod_with("a", weight=2))
    assert terms.n_distinct == 1
    terms.remove_pod(0, pod_with("a", weight=1))
    terms.remove_pod(1, pod_with("a", weight=1))
    assert (terms.n_distinct, terms.columns(kind)) == (0, {})


def test_terms_are_found_by_the_labels_they_require() -> None:
    terms = AffinityTermColumns(4)
    kind = TermKind.REQUIRED_ANTI_AFFINITY
    anything = {"labelSelector": {}, "topologyKey": "zone"}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [anything]}}
    for pod in (pod_with("a"), pod_with("b"), make_pod("alone", spec={"affinity": rules})):
        terms.add_pod(0, pod)

    def found(**labels: str) -> list[str]:
        candidates = terms.candidates(kind, labels)
        return sorted(str(each.values) for (term, _), _ in candidates for each in term.selector.requirements or ())

    assert len(list(terms.candidates(kind, {}))) == 1
    assert len(list(terms.candidates(kind, {"app": "a"}))) == 2
    assert len(found(app="a")) == 1
    assert found(app="a") != found(app="b")
    assert list(terms.candidates(TermKind.REQUIRED_AFFINITY, {"app": "a"})) == []


@pytest.mark.parametrize(
    ("used", "wanted", "is_taken"),
    [
        pytest.param(HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.1", "TCP", 80), True, id="the same"),
        pytest.param(HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.2", "TCP", 80), False, id="other address"),
        pytest.param(HostPort(ANY_ADDRESS, "TCP", 80), HostPort("10.0.0.2", "TCP", 80), True, id="any in use"),
        pytest.param(HostPort("10.0.0.1", "TCP", 80), HostPort(ANY_ADDRESS, "TCP", 80), True, id="any wanted"),
        pytest.param(HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.1", "UDP", 80), False, id="other protocol"),
        pytest.param(HostPort("10.0.0.1", "TCP", 80), HostPort("10.0.0.1", "TCP", 81), False, id="other port"),
    ],
)
def test_ports_conflict_by_address(used: HostPort, wanted: HostPort, is_taken: bool) -> None:
    """The wildcard address stands for every address."""
    ports = HostPortColumns()
    entry = {"hostPort": used.port, "hostIP": used.ip, "protocol": used.protocol}
    pod = make_pod("p", spec={"containers": [{"name": "c", "ports": [entry]}]})
    ports.add_pod(1, pod)
    assert ports.at(1) == {used}
    assert ports.taken([wanted], 3).tolist() == [False, is_taken, False]
    ports.move_row(1, 0)
    assert ports.taken([wanted], 3).tolist() == [is_taken, False, False]
    ports.remove_pod(0, pod)
    assert not ports.taken([wanted], 3).any()


def test_users_of_a_claim_are_counted() -> None:
    """By namespace; a claim made for an ephemeral volume has one user, and is not counted."""
    volumes = VolumeColumns(4)

    def claiming(namespace: str, source: dict[str, Any]) -> Pod:
        return make_pod("p", namespace=namespace, spec={"volumes": [{"name": "c", **source}]})

    shared = {"persistentVolumeClaim": {"claimName": "p-c"}}
    for row, pod in ((0, claiming("x", shared)), (2, claiming("x", shared)), (2, claiming("x", shared))):
        volumes.add_pod(row, pod)
    volumes.add_pod(1, claiming("y", shared))
    volumes.add_pod(1, claiming("x", {"ephemeral": {}}))
    assert volumes.claim_users("x/p-c", 3).tolist() == [1, 0, 2]
    volumes.move_row(2, 1)
    volumes.remove_pod(0, claiming("x", shared))
    assert volumes.claim_users("x/p-c", 2).tolist() == [0, 2]
