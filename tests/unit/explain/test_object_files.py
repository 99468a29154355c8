"""Files of objects: lists, documents, JSON, and what is wrong with others."""

from __future__ import annotations

import json

import pytest

from bayplan.explain.object_files import ObjectFileError, read_objects, read_snapshot

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps({"apiVersion": "v1", "kind": "List", "items": [NODE, POD]}), id="a JSON list"),
        pytest.param(f"{json.dumps(NODE)[1:-1].join('{}')}", id="one JSON object"),
        pytest.param(f"---\n{json.dumps(NODE)}\n---\n{json.dumps(POD)}\n", id="YAML documents"),
        pytest.param(
            "apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: n}\n", id="a typed list without kinds"
        ),
    ],
)
def test_objects_are_found_in_every_form(text: str) -> None:
    """As kubectl prints them with -o yaml and -o json."""
    found = read_objects(text, "file")

    assert (found[0]["kind"], found[0]["metadata"]["name"]) == ("Node", "n")


def test_a_snapshot_has_objects_as_a_cluster_would() -> None:
    """With a namespace and a scheduler where a manifest has none; times stay text."""
    pod = {**POD, "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}}

    objects = read_snapshot({"a": f"---\n{json.dumps(pod)}", "b": json.dumps(NODE)})

    assert objects.pods["default/p"].spec.scheduler_name == "default-scheduler"
    assert list(objects.nodes) == ["n"]
    assert (objects.source().n_nodes, objects.source().description) == (1, "a, b")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param('{"kind": "List", "items": [{"ki', "cut off", id="JSON cut in half"),
        pytest.param("kind: List\nitems:\n- {metadata: {name: a", "cut off", id="YAML cut in half"),
        pytest.param("just words", "no kind", id="no object"),
        pytest.param("", "no objects", id="empty"),
        pytest.param("kind: Pod\napiVersion: v1\n", "metadata", id="no metadata"),
        pytest.param("kind: List\nitems: 3\n", "not a list", id="items that are no list"),
        pytest.param(
            "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {containers: 3}\n",
            "spec.containers",
            id="wrong type",
        ),
    ],
)
def test_a_bad_file_gets_a_clear_answer(text: str, problem: str) -> None:
    """Which file, and what is wrong with it."""
    with pytest.raises(ObjectFileError, match=problem) as error:
        read_snapshot({"snapshot.yaml": text})

    assert str(error.value).startswith("snapshot.yaml: ")
