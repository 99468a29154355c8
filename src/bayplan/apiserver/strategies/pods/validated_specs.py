"""Remembers valid pod specs: pods of one template have the same spec, which is validated once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

_MOST: Final = 1024
_encode = msgspec.json.Encoder().encode
T = TypeVar("T")


class ValidatedSpecs:
    """Specs without errors. Only validation that depends on nothing but the spec may be cached here."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def findings(self, spec: Mapping[str, Any], look: Callable[[], list[T]]) -> list[T]:
        """The errors that *look* finds in the spec."""
        identity = _encode(spec)
        if identity in self._known:
            return []
        found = look()
        if not found:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known.add(identity)
        return found


def has_named_volumes(spec: Mapping[str, Any]) -> bool:
    """Whether the pod has generated claims, whose names begin with its own: then its name matters."""
    return any("ephemeral" in volume for volume in spec.get("volumes", ()))
