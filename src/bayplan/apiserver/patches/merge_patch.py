"""JSON merge patch (RFC 7386) as kube-apiserver applies it."""

from __future__ import annotations

from typing import Any

from bayplan.apiserver.registry.rest_strategy import Object


def apply(current: Object, patch: Object) -> Object:
    """`current` merged with the patch: objects are merged, null removes, everything else replaces."""
    for key, value in patch.items():
        if value is None:
            current.pop(key, None)
        else:
            current[key] = _merged(current.get(key), value)
    return current


def _merged(current: Any, value: Any) -> Any:
    if not isinstance(current, dict):
        return _without_nulls(value)
    # A list that replaces an object keeps its nulls: there they are values, not removals.
    return apply(current, value) if isinstance(value, dict) else value


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value
