"""Typed requests, against the embedded API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from bayplan.client.errors import ConflictError, NotFoundError
from bayplan.framework import Client, PluginError
from bayplan.model import ConfigMap, Node, Pod
from bayplan.testing import VirtualCluster

LIMITS = {"metadata": {"name": "limits", "labels": {"app": "web"}}, "data": {"cpu": "2"}}


@pytest.fixture
def cluster() -> Iterator[VirtualCluster]:
    with VirtualCluster(nodes=2, scheduler=False) as started:
        yield started


@pytest.fixture
def client(cluster: VirtualCluster) -> Client:
    return cluster.cluster.client


def test_an_object_from_its_creation_to_its_end(cluster: VirtualCluster, client: Client) -> None:
    made = cluster.run(client.create(ConfigMap, LIMITS, "default"))
    assert (made.key, made.data) == ("default/limits", {"cpu": "2"})
    with pytest.raises(ConflictError):
        cluster.run(client.create(ConfigMap, made, "default"))

    patched = cluster.run(client.patch(ConfigMap, "limits", {"data": {"cpu": None, "memory": "1Gi"}}, "default"))
    assert patched.data == {"memory": "1Gi"}
    assert cluster.run(client.get(ConfigMap, "limits", "default")) == patched

    assert cluster.run(client.delete(ConfigMap, "limits", "default"))
    assert not cluster.run(client.delete(ConfigMap, "limits", "default"))
    with pytest.raises(NotFoundError):
        cluster.run(client.get(ConfigMap, "limits", "default"))


def test_lists_are_selected_on_the_server(cluster: VirtualCluster, client: Client) -> None:
    for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        body = {"metadata": {"name": name, "labels": {"app": app}}}
        cluster.run(client.create("configmaps.v1", body, "default"))
    web = cluster.run(client.list(ConfigMap, "default", labels="app=web"))
    assert [each.name for each in web] == ["a", "c"]
    named: Any = cluster.run(client.list("configmaps.v1", fields="metadata.name=b"))
    assert [each["metadata"]["name"] for each in named] == ["b"]
    assert [node.name for node in cluster.run(client.list(Node))] == ["node-1", "node-2"]


def test_a_long_list_is_read_in_pages(
    cluster: VirtualCluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bayplan.client.typed_requests._PAGE", 2)
    for number in range(5):
        cluster.run(client.create(ConfigMap, {"metadata": {"name": f"m{number}"}}, "default"))
    found = cluster.run(client.list(ConfigMap, "default"))
    assert [each.name for each in found] == [f"m{number}" for number in range(5)]


def test_a_subresource_is_patched(cluster: VirtualCluster, client: Client) -> None:
    spec = {"containers": [{"name": "main", "image": "app"}]}
    cluster.run(client.create(Pod, {"metadata": {"name": "p"}, "spec": spec}, "default"))
    pod = cluster.run(
        client.patch(Pod, "p", {"status": {"nominatedNodeName": "node-1"}}, "default", subresource="status")
    )
    assert pod.status.nominated_node_name == "node-1"


def test_a_wrong_kind_is_refused(cluster: VirtualCluster, client: Client) -> None:
    with pytest.raises(PluginError, match="'ConfigMap' is no kind of object"):
        cluster.run(client.get("ConfigMap", "limits"))
