"""An endpoint stays in its slice, and new ones go where there is room."""

from __future__ import annotations

from bayplan.controllers.services.endpoint_packing import PER_SLICE, pack_endpoints


def _name(number: int) -> str:
    return f"web-{number}"


def _uids(start: int, end: int) -> list[str]:
    return [f"uid-{number}" for number in range(start, end)]


def test_a_service_without_endpoints_has_one_slice() -> None:
    assert pack_endpoints({}, [], _name) == {"web-0": []}
    assert pack_endpoints({"b": ["gone"], "a": []}, [], _name) == {"a": []}


def test_a_growing_service_changes_its_last_slice_alone() -> None:
    first = pack_endpoints({}, _uids(0, 250), _name)
    assert [len(uids) for uids in first.values()] == [PER_SLICE, PER_SLICE, 50]

    grown = pack_endpoints(first, reversed(_uids(0, 320)), _name)

    assert [name for name in grown if grown[name] != first.get(name)] == ["web-2", "web-3"]
    assert sorted(uid for uids in grown.values() for uid in uids) == sorted(_uids(0, 320))


def test_room_that_was_left_is_used() -> None:
    full = pack_endpoints({}, _uids(0, 200), _name)

    left = pack_endpoints(full, [*_uids(5, 200), "new"], _name)

    assert left == {"web-0": [*_uids(5, 100), "new"], "web-1": _uids(100, 200)}


def test_an_empty_slice_goes_and_its_name_is_free() -> None:
    full = pack_endpoints({}, _uids(0, 200), _name)

    shrunk = pack_endpoints(full, _uids(100, 200), _name)
    grown = pack_endpoints(shrunk, _uids(100, 201), _name)

    assert (list(shrunk), list(grown)) == (["web-1"], ["web-1", "web-0"])
