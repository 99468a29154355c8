"""The sum of the requests or limits of a pod's containers, for pods as dictionaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.model.quantity import Quantity


def sum_over_containers(spec: Mapping[str, Any], key: str) -> dict[str, str]:
    """*key* is requests or limits. Containers and sidecars run at the same time; an init container runs next to
    the sidecars before it."""
    running: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for container in spec.get("initContainers", ()):
        amounts = _amounts(container, key)
        if container.get("restartPolicy") == "Always":
            _add(running, amounts)
            amounts = dict(running)
        else:
            amounts = _added(running, amounts)
        for name, amount in amounts.items():
            peak[name] = max(peak.get(name, amount), amount)
    for container in spec.get("containers") or []:
        _add(running, _amounts(container, key))
    for name, amount in peak.items():
        running[name] = max(running.get(name, amount), amount)
    return {name: str(amount) for name, amount in running.items()}


def _amounts(container: Mapping[str, Any], key: str) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in container.get("resources", {}).get(key, {}).items()}


def _add(total: dict[str, Quantity], more: dict[str, Quantity]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _added(base: dict[str, Quantity], more: dict[str, Quantity]) -> dict[str, Quantity]:
    total = {name: amount for name, amount in base.items() if name in more}
    _add(total, more)
    return total
