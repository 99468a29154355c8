"""Validation of lists and maps with a limited number of entries; of too many, only the number is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import duplicate, too_many

#: Errors of one entry; its path is the second argument.
EntryCauses = Callable[[Any, str], Iterable[StatusCause]]
#: Paths never show less of a long key.
_SHORTEST_SHOWN = 16


def list_causes(
    items: Sequence[Any], limit: int | None, path: str, item_causes: EntryCauses
) -> Iterator[StatusCause]:
    """Errors of a list; None is no limit."""
    if limit is not None and len(items) > limit:
        yield too_many(path, len(items), limit)
        return
    for i, item in enumerate(items):
        yield from item_causes(item, f"{path}[{i}]")


def set_causes(
    items: Sequence[Any],
    limit: int | None,
    path: str,
    item_causes: EntryCauses,
    key: Callable[[Any], object] = lambda item: item,
) -> Iterator[StatusCause]:
    """Errors of a list whose entries differ in their keys."""
    yield from list_causes(items, limit, path, item_causes)
    if limit is not None and len(items) > limit:
        return
    seen: set[object] = set()
    for i, item in enumerate(items):
        if key(item) in seen:
            yield duplicate(f"{path}[{i}]", key(item))
        seen.add(key(item))


def map_causes(
    entries: Mapping[str, Any],
    limit: int | None,
    path: str,
    key_causes: EntryCauses,
    value_causes: EntryCauses,
    *,
    shown_bytes: int,
) -> Iterator[StatusCause]:
    """Errors of a map; keys longer than `shown_bytes` are shortened in paths."""
    if limit is not None and len(entries) > limit:
        yield too_many(path, len(entries), limit)
        return
    for key, value in entries.items():
        yield from key_causes(key, path)
        yield from value_causes(value, f"{path}[{_shortened(key, shown_bytes)}]")


def no_causes(_value: Any, _path: str) -> tuple[StatusCause, ...]:
    """Every value is valid."""
    return ()


def _shortened(key: str, limit: int) -> str:
    limit = max(limit, _SHORTEST_SHOWN)
    if len(key) <= limit:
        return key
    rest = limit - len("...")
    return f"{key[: (rest + 1) // 2]}...{key[len(key) - rest // 2 :]}"
