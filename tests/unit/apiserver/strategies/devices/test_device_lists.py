"""Lists and maps with limits."""

from __future__ import annotations

from bayplan.apiserver.strategies.devices.device_lists import list_causes, map_causes, no_causes, set_causes
from bayplan.apiserver.validation.field_errors import invalid


def _refused(value: object, path: str) -> list[object]:
    return [invalid(path, value, "bad")]


def test_too_many_entries_are_only_counted() -> None:
    """A huge list costs nothing."""
    for causes in (list_causes, set_causes):
        found = list(causes(["a"] * 5, 4, "spec.x", _refused))  # type: ignore[arg-type]
        assert [(cause.field, cause.message) for cause in found] == [
            ("spec.x", "Too many: 5: must have at most 4 items")
        ]
    assert len(list(map_causes({"a": 1, "b": 2}, 1, "m", no_causes, _refused, shown_bytes=9))) == 1  # type: ignore[arg-type]


def test_a_repeated_entry_is_named() -> None:
    found = list(set_causes(["a", "b", "a"], None, "x", no_causes))

    assert [(cause.field, cause.message) for cause in found] == [("x[2]", 'Duplicate value: "a"')]


def test_long_keys_are_shortened_in_the_middle() -> None:
    """As upstream does: the path stays readable, both ends are kept."""
    key = "a" * 20 + "b" * 20

    found = list(map_causes({key: 1}, None, "m", no_causes, _refused, shown_bytes=20))  # type: ignore[arg-type]

    assert found[0].field == "m[aaaaaaaaa...bbbbbbbb]"
