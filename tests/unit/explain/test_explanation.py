"""The published format: its schema, and its version in every answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.unit.explain.applied import cluster_of, scheduler_of

from bayplan.explain.explainer import Explainer
from bayplan.explain.explanation import API_VERSION, AnswerSource, Explanation, published_schema
from bayplan.explain.fitting import fit_workloads
from bayplan.explain.pending_pods import PendingPods
from bayplan.testing import make_node, make_pod

SCHEMA = Path(__file__).parents[3] / "docs" / "explain.schema.json"


def test_the_published_schema_is_that_of_the_code() -> None:
    """`python -m bayplan.explain.explanation > docs/explain.schema.json` writes it."""
    assert json.loads(SCHEMA.read_text()) == published_schema()


def test_an_answer_can_be_read_again() -> None:
    """Version and kind are there, although they are always the same."""
    explainer = Explainer(scheduler_of(make_node("n", cpu="1")), AnswerSource(kind="snapshot", description="x"))
    answer = explainer.explain(make_pod("p", cpu="2"))

    encoded = msgspec.json.encode(answer)

    assert json.loads(encoded)["apiVersion"] == API_VERSION
    assert json.loads(encoded)["kind"] == "Explanation"
    assert msgspec.json.decode(encoded, type=Explanation) == answer


def _problems(value: Any, schema: dict[str, Any], where: str = "$") -> Iterator[str]:
    """Where *value* is not as the schema says; an unknown keyword of the schema is a problem, too."""
    known = {"$ref", "$defs", "$schema", "anyOf", "type", "title", "description", "default", "properties",
             "required", "items"}  # fmt: skip
    yield from (f"{where}: keyword {each}" for each in schema.keys() - known)
    if "$ref" in schema:
        yield from _problems(value, published_schema()["$defs"][schema["$ref"].removeprefix("#/$defs/")], where)
    if "anyOf" in schema and all(any(_problems(value, each, where)) for each in schema["anyOf"]):
        yield f"{where}: none of the alternatives"
    types = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    if "type" in schema and not isinstance(value, types[schema["type"]]):
        yield f"{where}: not {schema['type']}"
    if isinstance(value, dict) and "properties" in schema:
        yield from (f"{where}: lacks {each}" for each in schema.get("required", ()) if each not in value)
        yield from (f"{where}: unknown {each}" for each in value.keys() - schema["properties"].keys())
        for name in value.keys() & schema["properties"].keys():
            yield from _problems(value[name], schema["properties"][name], f"{where}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, each in enumerate(value):
            yield from _problems(each, schema["items"], f"{where}[{number}]")


def _answers() -> Iterator[Any]:
    """One of each kind, with as much in them as there is."""
    cordoned = make_node("c", spec={"unschedulable": True})
    waiting = make_pod("p", cpu="2", priority=5, spec={"nodeSelector": {"disk": "ssd"}})
    placed = make_pod("other", cpu="1", node_name="n")
    objects = cluster_of((make_node("n", cpu="1"), make_node("m", cpu="1"), cordoned, waiting, placed))
    scheduler = scheduler_of(*objects)
    explainer = Explainer(scheduler, objects.source())
    yield explainer.explain(waiting, node="n")
    yield explainer.explain(placed)
    yield PendingPods(scheduler, objects.source()).report()
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 4, "template": {"spec": {"containers": [_container("1")]}}},
    }
    yield fit_workloads(explainer, objects, [deployment], "default", n_suggestions=3)


def _container(cpu: str) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}


def test_answers_are_as_the_published_schema_says() -> None:
    """Read as a program would that knows nothing but the schema."""
    answers = [json.loads(msgspec.json.encode(each)) for each in _answers()]

    assert [each["kind"] for each in answers] == ["Explanation", "Explanation", "PendingReport", "FitReport"]
    assert any(answer.get("suggestions") for answer in answers)
    assert [problem for answer in answers for problem in _problems(answer, published_schema())] == []
    assert list(_problems({**answers[0], "more": 1}, published_schema()))
