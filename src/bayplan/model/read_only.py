"""Read-only dicts and lists, for what belongs to the scheduler and is shown to plugins.

Objects of the API are shared by the cache, the queue and all plugins. A plugin that wrote to one would change what
the others see, and nothing would say so. These types read like a dict and a list, and raise where they are written
to. A copy (`dict(labels)`, `copy.deepcopy(raw)`) can be changed.
"""

from __future__ import annotations

import copy
from typing import Any, Final, NoReturn, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

K = TypeVar("K")
V = TypeVar("V")

_ADVICE: Final = (
    "read-only: it belongs to the scheduler and is shared by all plugins. Change a copy of it, for example "
    "dict(labels); keep data of one attempt in the CycleState, and other data in attributes of the plugin; change "
    "the object itself through the API, with handle.client"
)


class ReadOnlyError(TypeError):
    """Something was written that must not be changed."""

    def __init__(self, what: str) -> None:
        super().__init__(f"this {what} is {_ADVICE}")


def _refuse_dict(self: Any, *arguments: Any, **more: Any) -> NoReturn:
    raise ReadOnlyError("dict")


def _refuse_list(self: Any, *arguments: Any, **more: Any) -> NoReturn:
    raise ReadOnlyError("list")


class ReadOnlyDict(dict[K, V]):
    """See the module's docstring."""

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refuse_dict
    clear = pop = popitem = setdefault = update = _refuse_dict

    def copy(self) -> dict[K, V]:
        return dict(self)

    def __copy__(self) -> dict[K, V]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[K, V]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class ReadOnlyList(list[V]):
    """See the module's docstring."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse_list
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse_list

    def copy(self) -> list[V]:
        return list(self)

    def __copy__(self) -> list[V]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[V]:
        return [copy.deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


#: The default of every field with a dict.
EMPTY: Final[dict[str, Any]] = ReadOnlyDict()


def freeze(struct: Struct, *fields: str) -> None:
    """Make the dicts in these fields read-only; to be called by `__post_init__`."""
    for name in fields:
        value = getattr(struct, name)
        if type(value) is dict:
            # The default for an empty one, so that it is left out where defaults are.
            force_setattr(struct, name, ReadOnlyDict(value) if value else EMPTY)


def read_only(value: Any) -> Any:
    """A copy of decoded JSON that cannot be changed at any depth."""
    if isinstance(value, dict):
        return ReadOnlyDict({key: read_only(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return ReadOnlyList([read_only(item) for item in value])
    return value
