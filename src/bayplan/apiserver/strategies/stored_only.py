"""Kinds that are stored so that charts install, while nothing in this cluster acts on them."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy, StatusStrategy

#: Group and plural → what does not happen.
_MISSING: Final = {
    ("networking.k8s.io", "ingresses"): "no ingress controller routes traffic",
    ("networking.k8s.io", "ingressclasses"): "no ingress controller routes traffic",
    ("networking.k8s.io", "networkpolicies"): "there is no network that could enforce it",
    ("autoscaling", "horizontalpodautoscalers"): "no controller scales by it",
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): "its webhooks are not called",
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): "its webhooks are not called",
}
_WITH_STATUS: Final = ("ingresses", "horizontalpodautoscalers")


def _warning(what: str) -> str:
    return f"the object is stored, but has no effect in this cluster: {what}"


class StoredOnlyStrategy(RestStrategy):
    """Warns when an object is created."""

    counts_generations = True

    def __init__(self, what: str) -> None:
        self._what = what

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return [_warning(self._what)] if old is None else []


class StoredOnlyStatusStrategy(StatusStrategy):
    """The same for kinds with a status."""

    def __init__(self, what: str) -> None:
        self._what = what

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        return [_warning(self._what)] if old is None else []


def stored_only_strategies() -> dict[tuple[str, str], RestStrategy]:
    """By group and plural."""
    return {
        place: StoredOnlyStatusStrategy(what) if place[1] in _WITH_STATUS else StoredOnlyStrategy(what)
        for place, what in _MISSING.items()
    }
