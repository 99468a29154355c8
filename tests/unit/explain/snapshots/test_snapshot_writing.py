"""The file of a snapshot: what is in it, and what it says is not."""

from __future__ import annotations

from tests.unit.explain.applied import cluster_of

from bayplan.explain.explanation import NotSeen
from bayplan.explain.snapshots.snapshot_writing import make_snapshot
from bayplan.model import ConfigMap, Pod
from bayplan.testing import make_node

CUSTOM = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w", "managedFields": [{}], "resourceVersion": "3"},
}


def test_what_cannot_be_anonymous_is_left_out() -> None:
    """Custom resources and ConfigMaps, whose fields nobody knows."""
    objects = cluster_of([make_node("n"), ConfigMap.from_dict({"metadata": {"name": "c"}, "data": {"a": "b"}})])
    objects.custom["example.com/v1", "widgets"] = [CUSTOM]

    plain, anonymous = make_snapshot(objects), make_snapshot(objects, anonymous=True)

    assert [item["kind"] for item in plain.items] == ["ConfigMap", "Node", "Widget"]
    assert plain.items[2]["metadata"] == {"name": "w"}
    assert [item["kind"] for item in anonymous.items] == ["Node"]
    assert anonymous.left_out == (
        "1 ConfigMap: its fields are not known, so it cannot be made anonymous",
        "1 Widget: its fields are not known, so it cannot be made anonymous",
    )


def test_what_could_not_be_read_is_told() -> None:
    """Without the server's words in an anonymous snapshot: they name who asked."""
    objects = cluster_of([Pod.from_dict({"metadata": {"name": "p"}, "status": {"phase": "Failed"}})])
    objects.not_seen.append(NotSeen(resource="nodes", reason='User "ann" cannot list', consequence=""))

    assert make_snapshot(objects).left_out == (
        "1 Pod: it has ended",
        'nodes: could not be read: User "ann" cannot list',
    )
    assert make_snapshot(objects, anonymous=True).left_out[1] == "nodes: could not be read"
