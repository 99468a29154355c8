"""Pod specs in which nothing was found: pods of a template have the same spec, and it is judged once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

_MOST: Final = 1024
_encode = msgspec.json.Encoder().encode
T = TypeVar("T")


class CleanSpecs:
    """Remembers specs without findings; only what depends on nothing but the spec may be asked here."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def findings(self, spec: Mapping[str, Any], look: Callable[[], list[T]]) -> list[T]:
        """What *look* finds in the spec."""
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
    """Whether claims are made for the pod, whose names begin with its own: then the name has a say."""
    return any("ephemeral" in volume for volume in spec.get("volumes", ()))
