"""DisruptionBudgets: which evictions would violate a PodDisruptionBudget."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.framework.pod_disruption import DisruptionBudgets, split_by_budget
from bayplan.model import PodDisruptionBudget
from bayplan.testing import make_pod


def budget(app: str | None, allowed: int = 0, **fields: Any) -> PodDisruptionBudget:
    """A budget for the pods of *app*; None: its selector is empty."""
    spec = {"selector": {"matchLabels": {"app": app}} if app is not None else {}}
    metadata = {"name": f"budget-{app}", "namespace": fields.pop("namespace", "default")}
    return PodDisruptionBudget.from_dict(
        {
            "metadata": metadata,
            "spec": {**spec, **fields.pop("spec", {})},
            "status": {"disruptionsAllowed": allowed, **fields},
        }
    )


WEB = tuple(make_pod(f"web{i}", labels={"app": "web"}) for i in range(3))


@pytest.mark.parametrize(
    ("budgets", "violating"),
    [
        ([], []),
        ([budget("web", 0)], ["web0", "web1", "web2"]),
        ([budget("web", 2)], ["web2"]),
        ([budget("web", 3)], []),
        ([budget("web", 1, disruptedPods={"web0": "2024-01-01T00:00:00Z"})], ["web2"]),
        ([budget(None, 0)], []),
        ([budget("web", 0, spec={"selector": None})], []),
        ([budget("web", 0, namespace="other")], []),
        ([budget("db", 0)], []),
        ([budget("web", 0, spec={"selector": {"matchExpressions": [{"key": "app", "operator": "Near"}]}})], []),
        (
            [
                budget("web", 2),
                budget("all", 1, spec={"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}),
            ],
            ["web1", "web2"],
        ),
    ],
    ids=[
        "no budgets",
        "nothing allowed",
        "two allowed",
        "all allowed",
        "disrupted already",
        "empty selector",
        "no selector",
        "other namespace",
        "other pods",
        "invalid selector",
        "the strictest counts",
    ],
)
def test_what_budgets_allow(budgets: list[PodDisruptionBudget], violating: list[str]) -> None:
    """Each pod uses up the budgets that select it, in order; below zero is a violation."""
    protected, others = split_by_budget(WEB, budgets)
    assert [pod.name for pod in protected] == violating
    assert [pod.name for pod in others] == [pod.name for pod in WEB if pod.name not in violating]


def test_pods_without_labels_are_protected_by_nobody() -> None:
    """A pod without labels is selected by no budget, not even by one for the absence of a label."""
    none_of = {"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}}
    protected, others = split_by_budget([make_pod("p")], [budget("x", 0, spec=none_of)])
    assert (protected, [pod.name for pod in others]) == ([], ["p"])


@pytest.mark.parametrize(("first_violated_only", "violating"), [(False, ["x0", "x1"]), (True, ["x0"])])
def test_several_budgets(first_violated_only: bool, violating: list[str]) -> None:
    """x0 violates the first budget; whether it also takes one from the second decides about x1."""
    pods = [
        make_pod("x0", labels={"app": "strict", "tier": "x"}),
        make_pod("x1", labels={"app": "other", "tier": "x"}),
    ]
    of_tier = budget("tier", 1, spec={"selector": {"matchLabels": {"tier": "x"}}})
    protected, _ = split_by_budget(pods, [budget("strict", 0), of_tier], first_violated_only=first_violated_only)
    assert [pod.name for pod in protected] == violating


def test_whether_any_budget_can_protect() -> None:
    """Budgets without a usable selector protect no pod."""
    assert not DisruptionBudgets([budget(None)])
    assert DisruptionBudgets([budget("web")])
