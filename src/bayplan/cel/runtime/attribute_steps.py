"""Attributes: a variable, or any other operand, with the steps into it. One closure for the whole chain.

An attribute costs 1, and each of its steps 1. It stays open for more steps while the expression is planned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.cel_types import CelType
from bayplan.cel.runtime.cel_values import NONE, OptionalValue
from bayplan.cel.runtime.display import display, native_type
from bayplan.cel.runtime.frame import Frame, Run
from bayplan.cel.runtime.qualifiers import ABSENT, ConstantQualifier, Qualifier


class Attribute:
    """An operand with qualifiers."""

    def __init__(self, operand: Run, qualifiers: Sequence[Qualifier] = (), slot: int | None = None) -> None:
        self._operand = operand
        self._qualifiers = tuple(qualifiers)
        #: Set if the operand is a plain variable, which neither fails nor costs.
        self._slot = slot

    def with_qualifier(self, qualifier: Qualifier) -> Attribute:
        """The same with one more step."""
        return Attribute(self._operand, (*self._qualifiers, qualifier), self._slot)

    def resolver(self) -> Run:
        """Evaluates to the value, at the cost of the steps alone."""
        operand, qualifiers = self._operand, self._qualifiers

        def resolve(frame: Frame) -> Any:
            return _apply(frame, operand(frame), qualifiers)

        return resolve

    def runner(self) -> Run:
        """Evaluates to the value, at the full cost."""
        keys = [
            qualifier.key
            for qualifier in self._qualifiers
            if isinstance(qualifier, ConstantQualifier) and _is_plain(qualifier)
        ]
        resolve = self.resolver()
        if self._slot is not None and len(keys) == len(self._qualifiers):
            return _key_path(self._slot, keys, resolve)

        def run(frame: Frame) -> Any:
            try:
                return resolve(frame)
            finally:
                frame.cost += 1

        return run


class ConditionalAttribute:
    """`condition ? truthy : falsy`; steps go into both branches, and it costs nothing itself."""

    def __init__(self, condition: Run, truthy: AnyAttribute, falsy: AnyAttribute) -> None:
        self._condition = condition
        self._truthy = truthy
        self._falsy = falsy

    def with_qualifier(self, qualifier: Qualifier) -> ConditionalAttribute:
        """The same with one more step."""
        truthy, falsy = self._truthy.with_qualifier(qualifier), self._falsy.with_qualifier(qualifier)
        return ConditionalAttribute(self._condition, truthy, falsy)

    def resolver(self) -> Run:
        """Evaluates to the value."""
        condition, truthy, falsy = self._condition, self._truthy.resolver(), self._falsy.resolver()

        def resolve(frame: Frame) -> Any:
            chosen = condition(frame)
            if chosen is True:
                return truthy(frame)
            if chosen is False:
                return falsy(frame)
            raise EvaluationError("no such overload")

        return resolve

    def runner(self) -> Run:
        """The same, as the condition and the branches have all the cost."""
        return self.resolver()


AnyAttribute = Attribute | ConditionalAttribute


def presence_runner(attribute: AnyAttribute) -> Run:
    """Evaluates `has()`, whose last step is a test; the attribute itself costs nothing.

    The original takes back the 1 that an attribute costs, even from a conditional one, which costs none.
    """
    resolve = attribute.resolver()
    refund = 1 if isinstance(attribute, ConditionalAttribute) else 0

    def run(frame: Frame) -> Any:
        try:
            value = resolve(frame)
        finally:
            frame.refund(refund)
        return value.has_value if type(value) is OptionalValue else value

    return run


def _is_plain(qualifier: ConstantQualifier) -> bool:
    return not qualifier.optional and type(qualifier.key) is str


def _apply(frame: Frame, value: Any, qualifiers: Sequence[Qualifier]) -> Any:
    """Take all steps. After an optional one, what is missing ends them."""
    optional = False
    if type(value) is OptionalValue:
        if not value.has_value:
            return value
        value, optional = _readapted(value.value), True
        if qualifiers and type(value) is EvaluationError:
            raise value.with_traceback(None)
    for qualifier in qualifiers:
        optional = optional or qualifier.optional
        if not optional:
            value = qualifier.qualify(frame, value)
            continue
        value = qualifier.qualify_if_present(frame, value)
        if value is ABSENT:
            return NONE
    return OptionalValue(value) if optional else value


def _readapted(value: Any) -> Any:
    """The content of an optional that a variable holds. The original does not know some types again."""
    while type(value) is OptionalValue:
        value = value.value
    native = native_type(value)
    if native:
        return EvaluationError(f"unsupported conversion to ref.Val: ({native}){display(value)}")
    return value.name if type(value) is CelType else value


def _key_path(slot: int, keys: Sequence[str], resolve: Run) -> Run:
    """The common case, `variable.a.b["c"]` on maps, without calls; anything unusual goes the long way."""
    cost = 1 + len(keys)

    def run(frame: Frame) -> Any:
        value = frame.slots[slot]
        try:
            for key in keys:
                value = value[key]
        except (KeyError, TypeError, IndexError, AttributeError):
            try:
                return resolve(frame)
            finally:
                frame.cost += 1
        frame.cost += cost
        return value

    if not keys:
        return _variable(slot)
    return run if len(keys) != 3 else _three_keys(slot, keys, resolve)


def _three_keys(slot: int, keys: Sequence[str], resolve: Run) -> Run:
    """`device.attributes["domain"].name`."""
    first, second, third = keys

    def run(frame: Frame) -> Any:
        try:
            value = frame.slots[slot][first][second][third]
        except (KeyError, TypeError, IndexError, AttributeError):
            try:
                return resolve(frame)
            finally:
                frame.cost += 1
        frame.cost += 4
        return value

    return run


def _variable(slot: int) -> Run:
    def run(frame: Frame) -> Any:
        frame.cost += 1
        return frame.slots[slot]

    return run
