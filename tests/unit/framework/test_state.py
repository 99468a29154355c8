"""CycleState: what plugins of one attempt write and read, and its copy for a what-if."""

from __future__ import annotations

import pytest

from bayplan.framework import CycleState


class Counts:
    """State that changes in place, so it knows how to be copied."""

    def __init__(self, values: list[int]) -> None:
        self.values = values

    def clone(self) -> Counts:
        return Counts(list(self.values))


@pytest.fixture
def state() -> CycleState:
    state = CycleState()
    state.write("A", 7)
    return state


def test_read_gives_what_was_written(state: CycleState) -> None:
    """A value is read back with the type it was written with."""
    assert state.read("A", int) == 7


def test_read_of_another_type_is_refused(state: CycleState) -> None:
    """A reader that expects something else has a bug, and hears of it."""
    with pytest.raises(TypeError, match="cycle state 'A' holds int, not str"):
        state.read("A", str)


def test_read_of_nothing_is_refused(state: CycleState) -> None:
    """`read` is for values that must be there."""
    with pytest.raises(KeyError):
        state.read("B", int)


def test_get_of_another_type_is_refused(state: CycleState) -> None:
    """As `read` does."""
    with pytest.raises(TypeError, match="cycle state 'A' holds int, not str"):
        state.get("A", str)


def test_get_of_nothing_is_none(state: CycleState) -> None:
    """`get` is for values that may be there."""
    assert (state.get("A", int), state.get("B", int)) == (7, None)


def test_written_values_can_be_listed_and_deleted(state: CycleState) -> None:
    """Several values at once; deleting one that is not there is no mistake."""
    state.update({"B": 8, "C": 9})
    state.delete("C")
    state.delete("D")
    assert (list(state.keys()), dict(state.items())) == (["A", "B"], {"A": 7, "B": 8})


def test_clone_is_independent(state: CycleState) -> None:
    """What a what-if does to its copy, the original does not see."""
    state.write("counts", Counts([1]))
    shared = [1]
    state.write("shared", shared)
    state.skip_filter.add("F")
    state.skip_score.add("S")
    copy = state.clone()
    copy.read("counts", Counts).values.append(2)
    copy.write("A", 8)
    copy.skip_filter.add("G")
    copy.skip_score.add("T")
    assert state.read("counts", Counts).values == [1]
    assert (state.read("A", int), state.skip_filter, state.skip_score) == (7, {"F"}, {"S"})
    assert copy.read("shared", list) is shared
    assert copy.equivalence_class is state.equivalence_class
