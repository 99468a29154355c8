"""Services, controllers and disruption budgets as the API writes them."""

import pytest

from bayplan.model import KubeObject, PodDisruptionBudget, PriorityClass, ReplicaSet, Service, StatefulSet


@pytest.mark.parametrize("kind", [ReplicaSet, StatefulSet, PodDisruptionBudget])
def test_selectors_are_typed(kind: type[ReplicaSet | StatefulSet | PodDisruptionBudget]) -> None:
    expressions = [{"key": "a", "operator": "In", "values": ["b"]}]
    selector = kind.from_dict({"spec": {"selector": {"matchExpressions": expressions}}}).spec.selector

    assert selector is not None
    assert selector.match_expressions[0].values == ("b",)


def test_service_has_a_map_of_labels() -> None:
    service = Service.from_dict({"spec": {"selector": {"a": "b"}, "clusterIP": "10.0.0.1"}})

    assert (service.spec.selector, service.spec.cluster_ip) == ({"a": "b"}, "10.0.0.1")


def test_budget_may_be_a_number_or_a_percentage() -> None:
    spec = {"minAvailable": 1, "maxUnavailable": "30%"}
    budget = PodDisruptionBudget.from_dict({"spec": spec, "status": {"disruptedPods": {"p": "now"}}})

    assert (budget.spec.min_available, budget.spec.max_unavailable) == (1, "30%")
    assert budget.status.disrupted_pods == {"p": "now"}


def test_priority_class_is_cluster_scoped() -> None:
    kind: type[KubeObject] = PriorityClass

    assert not kind.NAMESPACED
    assert PriorityClass.from_dict({"value": 7, "globalDefault": True}).value == 7
