"""Strict calls as closures: arguments are evaluated, an error among them is the result, and the call has its cost.

Two arguments are both evaluated even if the first fails; of more, none after the one that fails. That shows in the
cost, which has to be right where an error is absorbed later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.runtime.call_costs import STRING_FACTOR, CallCost, equality_cost
from bayplan.cel.runtime.cel_values import equals, is_equal
from bayplan.cel.runtime.frame import Frame, Run, value_or_error


def unary(arg: Run, function: Callable[[Any], Any], cost: CallCost) -> Run:
    """`function(arg)`."""

    def run(frame: Frame) -> Any:
        try:
            value = arg(frame)
        except EvaluationError as error:
            frame.cost += cost((error,), error)
            raise
        try:
            result = function(value)
        except EvaluationError as error:
            frame.cost += cost((value,), error)
            raise
        frame.cost += cost((value,), result)
        return result

    return run


def cheap_unary(arg: Run, function: Callable[[Any], Any]) -> Run:
    """The same for a call that costs 1."""

    def run(frame: Frame) -> Any:
        try:
            return function(arg(frame))
        finally:
            frame.cost += 1

    return run


def binary(left: Run, right: Run, function: Callable[[Any, Any], Any], cost: CallCost) -> Run:
    """`function(left, right)`."""

    def run(frame: Frame) -> Any:
        try:
            first = left(frame)
        except EvaluationError as error:
            second = value_or_error(right, frame)
            frame.cost += cost((error, second), error)
            raise
        try:
            second = right(frame)
        except EvaluationError as error:
            frame.cost += cost((first, error), error)
            raise
        try:
            result = function(first, second)
        except EvaluationError as error:
            frame.cost += cost((first, second), error)
            raise
        frame.cost += cost((first, second), result)
        return result

    return run


def cheap_binary(left: Run, right: Run, function: Callable[[Any, Any], Any]) -> Run:
    """The same for a call that costs 1."""

    def run(frame: Frame) -> Any:
        try:
            first = left(frame)
        except EvaluationError:
            value_or_error(right, frame)
            frame.cost += 1
            raise
        try:
            return function(first, right(frame))
        finally:
            frame.cost += 1

    return run


def sequential(args: Sequence[Run], function: Callable[..., Any], cost: CallCost) -> Run:
    """`function(*args)`, evaluated one by one up to the first that fails."""
    last = len(args) - 1

    def run(frame: Frame) -> Any:
        values = []
        for index, arg in enumerate(args):
            try:
                values.append(arg(frame))
            except EvaluationError as error:
                if index == last:
                    frame.cost += cost((*values, error), error)
                raise
        try:
            result = function(*values)
        except EvaluationError as error:
            frame.cost += cost(values, error)
            raise
        frame.cost += cost(values, result)
        return result

    return run


def equality(left: Run, right: Run, *, negate: bool) -> Run:
    """`==` or `!=`, which costs as much as the smaller side is large."""

    def run(frame: Frame) -> bool:
        try:
            first = left(frame)
        except EvaluationError as error:
            second = value_or_error(right, frame)
            frame.cost += equality_cost(error, second, negate=negate)
            raise
        try:
            second = right(frame)
        except EvaluationError as error:
            frame.cost += equality_cost(first, error, negate=negate)
            raise
        if type(first) is str and type(second) is str:
            frame.cost += ceil(min(len(first), len(second)) * STRING_FACTOR)
            return (first == second) is not negate
        frame.cost += equality_cost(first, second, negate=negate)
        return not is_equal(first, second) if negate else equals(first, second)

    return run


def conjunction(terms: Sequence[Run], absorbing: bool) -> Run:
    """`&&`, absorbed by false, or `||`, absorbed by true. An error is the result only if nothing absorbs it."""

    def run(frame: Frame) -> bool:
        failure: EvaluationError | None = None
        for term in terms:
            try:
                value: object = term(frame)
            except EvaluationError as error:
                failure = failure or error
                continue
            if value is absorbing:
                return absorbing
            if value is not True and value is not False:
                failure = failure or EvaluationError("no such overload")
        if failure is not None:
            raise failure.with_traceback(None)
        return not absorbing

    return run
