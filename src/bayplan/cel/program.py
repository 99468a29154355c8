"""A compiled expression, and how it is compiled: parse, check, validate, plan."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from bayplan.cel.cel_errors import CelCompileError, EvaluationError, describe_issues
from bayplan.cel.checking.cel_types import CelType
from bayplan.cel.checking.checker import check
from bayplan.cel.checking.environment import CelEnvironment
from bayplan.cel.checking.validators import validate
from bayplan.cel.runtime.frame import Frame, Run
from bayplan.cel.runtime.planner import plan
from bayplan.cel.syntax.expression import Expression
from bayplan.cel.syntax.parser import parse

_T = TypeVar("_T")
#: Frames for an expression of 250 levels.
_DEEP_STACK = 20_000


class CelProgram:
    """An expression that is ready to be evaluated."""

    __slots__ = ("_free_slots", "_run", "tree")

    def __init__(self, tree: Expression, run: Run, n_free_slots: int) -> None:
        self.tree = tree
        self._run = run
        self._free_slots = [None] * n_free_slots

    def evaluate(self, variables: Sequence[Any], cost_limit: int) -> tuple[Any, int]:
        """The value and what it cost; variables in the order of the environment. Raises CelRuntimeError."""
        try:
            return self._evaluate(variables, cost_limit)
        except RecursionError:
            return _with_deep_stack(lambda: self._evaluate(variables, cost_limit))

    def _evaluate(self, variables: Sequence[Any], cost_limit: int) -> tuple[Any, int]:
        frame = Frame([*variables, *self._free_slots], cost_limit)
        try:
            value = self._run(frame)
        except EvaluationError as error:
            frame.check_limit()
            error.cost = frame.cost
            raise
        frame.check_limit()
        return value, frame.cost


def _with_deep_stack(function: Callable[[], _T]) -> _T:
    """Call a function that nests deeply. How deep an expression can be is bounded by the parser."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + _DEEP_STACK)
    try:
        return function()
    finally:
        sys.setrecursionlimit(before)


def compile_program(
    source: str, environment: CelEnvironment, check_output: Callable[[CelType], None] | None = None
) -> CelProgram:
    """Compile an expression, whose type the caller may refuse. Raises CelCompileError."""
    try:
        return _compile(source, environment, check_output)
    except RecursionError:
        return _with_deep_stack(lambda: _compile(source, environment, check_output))


def _compile(
    source: str, environment: CelEnvironment, check_output: Callable[[CelType], None] | None
) -> CelProgram:
    tree, issues = parse(source, environment.macros)
    if not issues:
        issues = check(tree, environment) or validate(tree, environment)
    if issues:
        raise CelCompileError(f"compilation failed: {describe_issues(source, issues)}")
    if check_output is not None:
        check_output(tree.type)
    run, n_slots = plan(tree, environment)
    return CelProgram(tree, run, n_slots - len(environment.variables))
