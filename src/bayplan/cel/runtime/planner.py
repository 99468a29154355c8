"""From a checked tree to closures: literals are folded, selects become attributes, calls find their overload.

A part of a plan is a constant, an attribute or a closure; what it is matters to the part around it, as it does in
cel-go: a constant pattern is compiled once, a list of constants is a constant, a constant conversion is done now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.cel.cel_errors import CancelledError, CelCompileError, EvaluationError
from bayplan.cel.checking.cel_types import Kind
from bayplan.cel.checking.declarations import Function, Overload
from bayplan.cel.checking.environment import CelEnvironment
from bayplan.cel.functions.regexes import constant_pattern
from bayplan.cel.runtime.attribute_steps import AnyAttribute, Attribute, ConditionalAttribute, presence_runner
from bayplan.cel.runtime.call_costs import CHEAP, call_cost
from bayplan.cel.runtime.cel_values import OptionalValue, type_of_value
from bayplan.cel.runtime.constructors import list_constructor, map_constructor
from bayplan.cel.runtime.display import go_type
from bayplan.cel.runtime.folds import FoldParts, fold, lazy_variable
from bayplan.cel.runtime.frame import Frame, Run, value_or_error
from bayplan.cel.runtime.membership import constant_membership
from bayplan.cel.runtime.qualifiers import ConstantQualifier, DynamicQualifier, Qualifier, TestQualifier
from bayplan.cel.runtime.steps import (
    binary,
    cheap_binary,
    cheap_unary,
    conjunction,
    equality,
    sequential,
    unary,
)
from bayplan.cel.syntax.expression import (
    Call,
    Comprehension,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapLiteral,
    Select,
)
from bayplan.cel.syntax.macros import UNUSED

_CONVERSIONS = frozenset(
    ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
)
_INDEXING = {"_[_]": False, "_[?_]": True, "_?._": True}
#: Values that can be keys when they are constants.
_KEYS = (str, int, bool, float)


class Plan:
    """A planned part: how to evaluate it, and what it is if it is something special."""

    __slots__ = ("attribute", "is_constant", "run", "value")

    def __init__(
        self, run: Run, *, attribute: AnyAttribute | None = None, is_constant: bool = False, value: Any = None
    ) -> None:
        self.run = run
        self.attribute = attribute
        self.is_constant = is_constant
        self.value = value


def plan(tree: Expression, environment: CelEnvironment) -> tuple[Run, int]:
    """The closure of an expression, and how many slots its frame needs. Raises CelCompileError."""
    planner = _Planner(environment)
    try:
        run = planner.plan(tree).run
    except (EvaluationError, CancelledError) as error:
        raise CelCompileError(f"program instantiation failed: {error}") from None
    return run, planner.n_slots


def _constant(value: Any) -> Plan:
    return Plan(lambda frame: value, is_constant=True, value=value)


def _attribute(attribute: AnyAttribute) -> Plan:
    return Plan(attribute.runner(), attribute=attribute)


class _Planner:
    def __init__(self, environment: CelEnvironment) -> None:
        self._functions = environment.library.functions
        self._scopes: list[Mapping[str, Attribute]] = [
            {name: _slot(slot) for slot, name in enumerate(environment.variables)}
        ]
        self.n_slots = len(environment.variables)

    def plan(self, node: Expression) -> Plan:
        """Plan a node and what is below it. Raises EvaluationError for constants that cannot be computed."""
        match node:
            case Literal():
                return _constant(node.value)
            case Identifier():
                return self._identifier(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListLiteral():
                return self._list(node)
            case MapLiteral():
                return self._map(node)
            case Comprehension():
                return self._comprehension(node)
        raise CelCompileError(f"unsupported expr: {type(node).__name__}")

    def _identifier(self, node: Identifier) -> Plan:
        if node.constant is not None:
            return _constant(node.constant)
        if node.type.kind is Kind.TYPE:
            raise EvaluationError(f"reference to undefined type: {node.name}")
        for scope in reversed(self._scopes):
            if node.name in scope:
                return _attribute(scope[node.name])
        raise CelCompileError(f"no such attribute(s): {node.name}")

    # --- attributes -----------------------------------------------------------------------------------

    def _select(self, node: Select) -> Plan:
        if node.resolved is not None:
            return self._identifier(node.resolved)
        attribute = self._attribute_of(self.plan(node.operand))
        if node.test_only:
            tested = attribute.with_qualifier(TestQualifier(node.field_name))
            return Plan(presence_runner(tested), attribute=tested)
        return _attribute(attribute.with_qualifier(ConstantQualifier(node.field_name, optional=False)))

    def _attribute_of(self, operand: Plan) -> AnyAttribute:
        return Attribute(operand.run) if operand.attribute is None else operand.attribute

    def _index(self, node: Call) -> Plan:
        operand, key = (self.plan(arg) for arg in node.args)
        qualifier = self._qualifier(key, optional=_INDEXING[node.function])
        return _attribute(self._attribute_of(operand).with_qualifier(qualifier))

    def _qualifier(self, key: Plan, *, optional: bool) -> Qualifier:
        if key.is_constant:
            if not isinstance(key.value, _KEYS):
                raise EvaluationError(f"invalid qualifier type: {go_type(key.value)}")
            return ConstantQualifier(key.value, optional=optional)
        resolve = key.run if key.attribute is None else key.attribute.resolver()
        return DynamicQualifier(resolve, optional=optional)

    def _conditional(self, node: Call) -> Plan:
        condition, truthy, falsy = (self.plan(arg) for arg in node.args)
        branches = (self._attribute_of(truthy), self._attribute_of(falsy))
        return _attribute(ConditionalAttribute(condition.run, *branches))

    # --- literals -------------------------------------------------------------------------------------

    def _list(self, node: ListLiteral) -> Plan:
        elements = [self.plan(element) for element in node.elements]
        run = list_constructor([element.run for element in elements], node.optional)
        return self._folded(run, elements)

    def _map(self, node: MapLiteral) -> Plan:
        keys = [self.plan(entry.key) for entry in node.entries]
        values = [self.plan(entry.value) for entry in node.entries]
        optional = [entry.optional for entry in node.entries]
        run = map_constructor([key.run for key in keys], [value.run for value in values], optional)
        return self._folded(run, [*keys, *values])

    def _folded(self, run: Run, parts: Sequence[Plan]) -> Plan:
        """A constant if all parts are."""
        if not all(part.is_constant for part in parts):
            return Plan(run)
        return _constant(run(Frame([], 0)))

    # --- comprehensions -------------------------------------------------------------------------------

    def _comprehension(self, node: Comprehension) -> Plan:
        accumulator, first, second = self._new_slot(), self._new_slot(), -1
        init = self._initial(node)
        iter_range = self.plan(node.iter_range).run
        variable = Attribute(lazy_variable(accumulator, init))
        self._scopes.append({node.accu_var: variable})
        names = {node.iter_var: _slot(first)}
        if node.iter_var2:
            second = self._new_slot()
            names[node.iter_var2] = _slot(second)
        self._scopes.append(names)
        condition = self.plan(node.condition).run
        step = self._step(node.step, node)
        self._scopes.pop()
        result = self.plan(node.result).run
        self._scopes.pop()
        return Plan(fold(FoldParts(iter_range, condition, step, result, accumulator, first, second)))

    def _initial(self, node: Comprehension) -> Run:
        """The initial value; a list or map to collect in has to be a new one every time."""
        planned = self.plan(node.accu_init)
        if node.iter_var != UNUSED and planned.is_constant and isinstance(planned.value, list | dict):
            return lambda frame: type(planned.value)()
        return planned.run

    def _step(self, step: Expression, node: Comprehension) -> Run:
        """The step; what a macro collects is added in place, as copying would make long lists slow."""
        return self.plan(step).run

    def _new_slot(self) -> int:
        self.n_slots += 1
        return self.n_slots - 1

    # --- calls ----------------------------------------------------------------------------------------

    def _call(self, node: Call) -> Plan:
        function = node.function
        if function in _INDEXING:
            return self._index(node)
        if function == "_?_:_":
            return self._conditional(node)
        args = [self.plan(operand) for operand in node.operands()]
        runs = [arg.run for arg in args]
        if function in ("_&&_", "_||_"):
            return Plan(conjunction(runs, absorbing=function == "_||_"))
        if function in ("_==_", "_!=_"):
            return Plan(equality(*runs, negate=function == "_!=_"))
        if function in ("or", "orValue"):
            return Plan(_alternative(*runs, unwrap=function == "orValue"))
        return self._function_call(node, args)

    def _function_call(self, node: Call, args: Sequence[Plan]) -> Plan:
        function = self._functions[node.function]
        id = node.overloads[0] if len(node.overloads) == 1 else ""
        if id == "in_list" and args[1].is_constant:
            membership = constant_membership(args[0].run, args[1].value)
            if membership is not None:
                return _constant(False) if not args[1].value else Plan(membership)
        if node.function in _CONVERSIONS and len(args) == 1 and args[0].is_constant:
            return _constant(_implementation(function, id)(args[0].value))
        run = self._strict_call(function, id, args)
        return Plan(_computed_once(run) if all(arg.is_constant for arg in args) else run)

    def _strict_call(self, function: Function, id: str, args: Sequence[Plan]) -> Run:
        runs = [arg.run for arg in args]
        cost = call_cost(function.name, id)
        pattern = args[1] if len(args) > 1 else None
        if pattern is not None and pattern.is_constant:
            prepared = constant_pattern(function.name, pattern.value)
            if prepared is not None:
                return sequential(runs, prepared, cost)
        implementation = _implementation(function, id)
        if function.name == "@not_strictly_false":
            return _not_strictly_false(runs[0])
        if len(runs) == 1:
            return cheap_unary(runs[0], implementation) if cost is CHEAP else unary(runs[0], implementation, cost)
        if len(runs) == 2 and _evaluates_both(function, id):
            if cost is CHEAP:
                return cheap_binary(runs[0], runs[1], implementation)
            return binary(runs[0], runs[1], implementation, cost)
        return sequential(runs, implementation, cost)


def _slot(slot: int) -> Attribute:
    return Attribute(lambda frame: frame.slots[slot], slot=slot)


def _evaluates_both(function: Function, id: str) -> bool:
    """Whether two arguments are evaluated in any case: not where the overload is found by the values."""
    if function.singleton is not None:
        return True
    return (bool(id) or len(function.overloads) == 1) and id != "string_format"


# --- overloads --------------------------------------------------------------------------------------------


def _implementation(function: Function, id: str) -> Any:
    """What a call does: the one overload that the types allow, or whichever fits the values."""
    if function.singleton is not None:
        return function.singleton
    candidates = [each for each in function.overloads if each.id == id] or function.overloads
    if function.unguarded and len(candidates) == 1:
        return candidates[0].implementation
    return _dispatcher(function.name, candidates)


def _dispatcher(name: str, candidates: Sequence[Overload]) -> Any:
    general = _general_dispatcher(name, candidates)
    classes = candidates[0].classes() if len(candidates) == 1 else None
    function = candidates[0].implementation
    if classes is None or function is None or len(classes) not in (1, 2):
        return general
    if len(classes) == 1:
        (only,) = classes
        return lambda value: function(value) if type(value) in only else general(value)
    first, second = classes

    def dispatch(left: Any, right: Any) -> Any:
        if type(left) in first and type(right) in second:
            return function(left, right)
        return general(left, right)

    return dispatch


def _general_dispatcher(name: str, candidates: Sequence[Overload]) -> Any:
    def dispatch(*args: Any) -> Any:
        for overload in candidates:
            if overload.implementation is not None and len(overload.args) == len(args) and overload.accepts(args):
                return overload.implementation(*args)
        types = ", ".join(type_of_value(arg).name for arg in args)
        raise EvaluationError(f"no such overload: {name}({types})")

    return dispatch


def _computed_once(run: Run) -> Run:
    """A call with constant arguments, such as `quantity("40Gi")`: its result is cached, its cost always paid."""
    kept: list[tuple[Any, int]] = []

    def run_once(frame: Frame) -> Any:
        if not kept:
            scratch = Frame([], frame.limit)
            value = value_or_error(run, scratch)
            kept.append((value, scratch.cost))
        value, cost = kept[0]
        frame.cost += cost
        if type(value) is EvaluationError:
            raise value.with_traceback(None)
        return value

    return run_once


def _not_strictly_false(arg: Run) -> Run:
    def run(frame: Frame) -> Any:
        try:
            value = arg(frame)
        except EvaluationError:
            value = True
        frame.cost += 1
        return value if type(value) is bool else True

    return run


def _alternative(left: Run, right: Run, *, unwrap: bool) -> Run:
    """`or` and `orValue`: the right side is evaluated only if the left has no value."""

    def run(frame: Frame) -> Any:
        value = left(frame)
        if type(value) is not OptionalValue:
            return value
        if not value.has_value:
            return right(frame)
        if unwrap and type(value.value) is EvaluationError:
            raise value.value.with_traceback(None)
        return value.value if unwrap else value

    return run
