"""Two recordings of the same are the same once uids, times, made-up names and chance are taken out."""

from __future__ import annotations

from typing import Any

from tools.recording.comparable import comparable, is_tie, same_way

UIDS = ("11111111-2222-3333-4444-555555555555", "66666666-7777-8888-9999-000000000000")


def claims_line(uid: str, suffix: str) -> dict[str, Any]:
    """A pod with a claim from a template."""
    name = f"p-gpu-{suffix}"
    claim = {
        "metadata": {"generateName": "p-gpu-", "name": name, "namespace": "default", "uid": uid},
        "spec": {},
        "status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": uid}]},
    }
    statuses = [{"name": "gpu", "resourceClaimName": name}]
    step = {"pod": {}, "node": "n1", "resourceClaimStatuses": statuses, "claims_after": [claim]}
    return {"kind": "claims", "steps": [step]}


def test_made_up_names_and_uids_do_not_matter() -> None:
    assert comparable(claims_line(UIDS[0], "x7k2p")) == comparable(claims_line(UIDS[1], "q9z4d"))


def test_attempts_are_compared_by_whether() -> None:
    """How often a pod was tried, and on which node it ended, is left to chance."""

    def line(attempts: int, node: str | None) -> dict[str, Any]:
        state = {"node": node, "message": None}
        told = {"attempts_before": 1, "attempts_after_change": attempts, "before": state, "after": state}
        return {"kind": "requeue", "result": {"web": told}}

    assert comparable(line(1, "a")) == comparable(line(3, "b"))
    assert comparable(line(1, "a")) != comparable(line(0, "a"))
    assert comparable(line(1, "a")) != comparable(line(1, None))


def test_order_of_nodes_in_a_request_does_not_matter() -> None:
    def line(*names: str) -> dict[str, Any]:
        request = {"path": "/filter", "body": {"NodeNames": list(names), "Pod": {"status": {}}}}
        return {"kind": "extender", "requests": [request], "result": {"node": names[0]}}

    assert comparable(line("a", "b")) == comparable(line("b", "a"))
    assert comparable(line("a", "b")) != comparable(line("a"))


def test_words_of_validation_do_not_matter() -> None:
    """But the fields do."""

    def line(field: str, message: str) -> dict[str, Any]:
        details = {"causes": [{"field": field, "message": message}]}
        return {"kind": "api", "steps": [{"request": {}, "status": 422, "answer": {"details": details}}]}

    assert comparable(line("spec.a", "one")) == comparable(line("spec.a", "two"))
    assert comparable(line("spec.a", "one")) != comparable(line("spec.b", "one"))


def test_tie_needs_the_best_score() -> None:
    step = {"node": "a", "scores": {"a": {"total": 5}, "b": {"total": 5}, "c": {"total": 4}}}

    assert is_tie(step, "b")
    assert not is_tie(step, "c")
    assert not is_tie({"node": "a"}, "b")


def test_both_go_the_same_way_with_the_same_victims() -> None:
    step = {"node": "a", "preemption": {"nominated": "a", "victims": ["default/x"]}}

    assert same_way(step, {**step, "unschedulable": "other words"})
    assert not same_way(step, {**step, "preemption": {"nominated": "a", "victims": ["default/y"]}})
