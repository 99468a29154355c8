"""Comprehensions as closures: loops, and bindings, which are loops over nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.runtime.cel_values import map_keys
from bayplan.cel.runtime.display import go_type
from bayplan.cel.runtime.frame import Frame, Run

#: An accumulator that nobody has asked for yet.
UNSET: Any = object()


@dataclass(slots=True)
class FoldParts:
    """The parts of a comprehension, and where its variables are kept."""

    iter_range: Run
    condition: Run
    step: Run
    result: Run
    accumulator: int
    first: int
    #: The slot of the second variable, or -1.
    second: int


def lazy_variable(slot: int, init: Run) -> Run:
    """Reads an accumulator: the first reading computes its initial value, an error is kept and raised."""

    def operand(frame: Frame) -> Any:
        value = frame.slots[slot]
        if value is UNSET:
            try:
                value = init(frame)
            except EvaluationError as error:
                value = error
            frame.slots[slot] = value
        if type(value) is EvaluationError:
            raise value.with_traceback(None)
        return value

    return operand


def fold(parts: FoldParts) -> Run:
    """Evaluates a comprehension. An error of the step is the accumulator's value until something absorbs it."""
    accumulator = parts.accumulator
    result = parts.result

    def run(frame: Frame) -> Any:
        items = parts.iter_range(frame)
        slots = frame.slots
        outer = slots[accumulator]
        slots[accumulator] = UNSET
        try:
            _loop(parts, frame, items)
            return result(frame)
        finally:
            slots[accumulator] = outer

    return run


def _loop(parts: FoldParts, frame: Frame, items: Any) -> None:
    slots = frame.slots
    condition, step = parts.condition, parts.step
    accumulator, first, second = parts.accumulator, parts.first, parts.second
    for key, value in _pairs(items, two=second >= 0):
        slots[first] = key
        if second >= 0:
            slots[second] = value
        if _is_over(condition, frame):
            return
        try:
            slots[accumulator] = step(frame)
        except EvaluationError as error:
            slots[accumulator] = error
        frame.check_limit()


def _is_over(condition: Run, frame: Frame) -> bool:
    """Only a clear no ends the loop."""
    try:
        return condition(frame) is False
    except EvaluationError:
        return False


def _pairs(items: Any, *, two: bool) -> Iterable[tuple[Any, Any]]:
    """What the variables take on: elements or keys, or indices and elements, keys and values."""
    if type(items) is list:
        return enumerate(items) if two else ((item, None) for item in items)
    if isinstance(items, dict):
        return zip(list(map_keys(items)), list(items.values()), strict=True)
    if two:
        raise EvaluationError(f"unsupported comprehension range type: {go_type(items)}")
    raise EvaluationError(f"got '{go_type(items)}', expected iterable type")
