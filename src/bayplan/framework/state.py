"""CycleState: what the plugins of one attempt tell each other and themselves.

A fresh one is made for every attempt and thrown away after it. Preemption evaluates what-ifs on a clone, so
that the original is not disturbed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

if TYPE_CHECKING:
    from bayplan.framework.templates import Template

T = TypeVar("T")


@runtime_checkable
class Cloneable(Protocol):
    """State that is changed in place by add_pod/remove_pod, and so must be copied for a what-if."""

    def clone(self) -> Any: ...


class CycleState:
    """A mapping from a key to anything, for the length of one attempt.

    Keys are usually the plugin's name; read a value back with the type it was written with.
    """

    __slots__ = ("_values", "skip_filter", "skip_score", "template")

    def __init__(self) -> None:
        self._values: dict[str, object] = {}
        #: Plugins whose PreFilter said SKIP: their Filter, add_pod and remove_pod are not called.
        self.skip_filter: set[str] = set()
        #: Plugins whose PreScore said SKIP: their Score is not called.
        self.skip_score: set[str] = set()
        #: What is known of pods like this one; set by the runner.
        self.template: Template | None = None

    def write(self, key: str, value: object) -> None:
        self._values[key] = value

    def read(self, key: str, kind: type[T]) -> T:
        """The value under *key*; KeyError if nobody wrote it, which is a bug in the reader."""
        value = self._values[key]
        if not isinstance(value, kind):
            raise TypeError(f"cycle state {key!r} holds {type(value).__name__}, not {kind.__name__}")
        return value

    def get(self, key: str, kind: type[T]) -> T | None:
        """The value under *key*, or None."""
        return cast("T | None", self._values.get(key)) if key in self._values else None

    def update(self, values: Mapping[str, object]) -> None:
        self._values.update(values)

    def items(self) -> Iterable[tuple[str, object]]:
        return self._values.items()

    def keys(self) -> Iterable[str]:
        return self._values.keys()

    def alike(self, key: str, make: Callable[[], T]) -> T:
        """What *make* gives, called once for all pods that differ in nothing but their names.

        It must follow from the pod, and from objects other than nodes and pods: when one of those changes, *make*
        is called again. Nobody may change what it gives.
        """
        if self.template is None:
            return make()
        known = self.template.known
        if key not in known:
            known[key] = make()
        return cast("T", known[key])

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def clone(self) -> CycleState:
        """A copy whose changeable values are copies too."""
        copy = CycleState()
        copy.skip_filter = set(self.skip_filter)
        copy.skip_score = set(self.skip_score)
        copy.template = self.template
        copy._values = {
            key: value.clone() if isinstance(value, Cloneable) else value for key, value in self._values.items()
        }
        return copy
