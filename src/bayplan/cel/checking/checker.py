"""Gives every node its type and every call its overloads, or says what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence

from bayplan.cel.cel_errors import Issue
from bayplan.cel.checking.assignability import TypeBindings, most_general
from bayplan.cel.checking.cel_types import (
    BOOL,
    DYN,
    ERROR,
    INT,
    LIST,
    MAP,
    STRING,
    CelType,
    Kind,
    list_of,
    map_of,
    optional_of,
    parameter,
    type_of,
    unwrap_optional,
)
from bayplan.cel.checking.declarations import Function, Overload
from bayplan.cel.checking.environment import CelEnvironment
from bayplan.cel.runtime.cel_values import type_of_value
from bayplan.cel.syntax.expression import (
    Call,
    Comprehension,
    Expression,
    Identifier,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    MessageLiteral,
    Select,
    qualified_name,
    walk,
)

#: Types that are known without their elements when an expression is evaluated.
_RUNTIME_TYPES = {Kind.LIST: LIST, Kind.MAP: MAP}


def check(tree: Expression, environment: CelEnvironment) -> list[Issue]:
    """Write types into the tree; returns what is wrong."""
    checker = _Checker(environment)
    checker.check(tree)
    for node in walk(tree):
        node.type = checker.bindings.resolve(node.type, free_is_dyn=True)
    return checker.issues


class _Checker:
    def __init__(self, environment: CelEnvironment) -> None:
        self.issues: list[Issue] = []
        self.bindings = TypeBindings()
        self._environment = environment
        self._scopes: list[dict[str, CelType]] = []
        self._n_variables = 0

    def _report(self, node: Expression | MapEntry, message: str) -> None:
        self.issues.append(Issue(node.offset, message))

    def _mismatch(self, node: Expression, expected: CelType, actual: CelType) -> None:
        self._report(node, f"expected type '{expected.text}' but found '{actual.text}'")

    def _undeclared(self, node: Expression, name: str) -> None:
        self._report(node, f"undeclared reference to '{name}' (in container '')")

    def _new_variable(self) -> CelType:
        variable = parameter(f"_var{self._n_variables}")
        self._n_variables += 1
        return variable

    def check(self, node: Expression) -> None:
        """Give a node, and what is below it, their types."""
        match node:
            case Literal():
                node.type = type_of_value(node.value)
            case Identifier():
                self._check_identifier(node)
            case Select():
                self._check_select(node)
            case Call():
                self._check_call(node)
            case ListLiteral():
                self._check_list(node)
            case MapLiteral():
                self._check_map(node)
            case Comprehension():
                self._check_comprehension(node)
            case MessageLiteral():
                self._check_message(node)

    # --- names ----------------------------------------------------------------------------------------

    def _lookup(self, name: str) -> tuple[CelType, CelType | None] | None:
        """The type of a name, and its value if it is the name of a type."""
        name = name.removeprefix(".")
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name], None
        if name in self._environment.variables:
            return self._environment.variables[name], None
        if name in self._environment.type_names:
            named = self._environment.type_names[name]
            return type_of(named), _RUNTIME_TYPES.get(named.kind, named)
        return None

    def _check_identifier(self, node: Identifier) -> None:
        found = self._lookup(node.name)
        if found is None:
            self._undeclared(node, node.name)
            return
        node.name = node.name.removeprefix(".")
        node.type, node.constant = found

    def _check_select(self, node: Select) -> None:
        name = qualified_name(node)
        if name is not None and (found := self._lookup(name)) is not None:
            node.resolved = Identifier(node.offset, name.removeprefix("."))
            node.resolved.type, node.resolved.constant = found
            node.type = found[0]
            return
        result = self._field_type(node, node.operand, node.field_name, optional=False)
        node.type = BOOL if node.test_only else self.bindings.resolve(result)

    def _field_type(self, node: Expression, operand: Expression, name: str, *, optional: bool) -> CelType:
        self.check(operand)
        target, was_optional = unwrap_optional(self.bindings.resolve(operand.type))
        result = ERROR
        if target.kind is Kind.MAP:
            result = target.params[1]
        elif target.kind is Kind.STRUCT:
            result = self._struct_field(node, target, name)
        elif target.kind is Kind.PARAMETER:
            self.bindings.assign(DYN, target)
            result = DYN
        else:
            if not target.is_dyn_or_error:
                self._report(node, f"type '{target.text}' does not support field selection")
            result = DYN
        return optional_of(result) if was_optional or optional else result

    def _struct_field(self, node: Expression, target: CelType, name: str) -> CelType:
        fields = self._environment.structs.get(target.name)
        if fields is None:
            self._report(node, f"unexpected failed resolution of '{target.name}'")
            return ERROR
        if name not in fields:
            self._report(node, f"undefined field '{name}'")
            return ERROR
        return fields[name]

    # --- calls ----------------------------------------------------------------------------------------

    def _check_call(self, node: Call) -> None:
        if node.function == "_?._":
            name = node.args[1]
            assert isinstance(name, Literal)  # noqa: S101 - the parser makes no other
            name.type = STRING
            result = self._field_type(node, node.args[0], name.value, optional=True)
            node.type = self.bindings.resolve(result)
            node.overloads = ("select_optional_field",)
            return
        for arg in node.args:
            self.check(arg)
        function = self._function_of(node)
        if function is not None:
            self._resolve_overload(node, function)

    def _function_of(self, node: Call) -> Function | None:
        """The function that a call means; a target of names may be the first part of its name."""
        functions = self._environment.library.functions
        if node.target is not None:
            prefix = qualified_name(node.target)
            whole = None if prefix is None else f"{prefix}.{node.function}".removeprefix(".")
            if whole is not None and whole in functions:
                node.function, node.target = whole, None
                return functions[whole]
            self.check(node.target)
        name = node.function.removeprefix(".") if node.target is None else node.function
        function = functions.get(name)
        if function is None:
            self._undeclared(node, node.function)
            return None
        node.function = name
        return function

    def _resolve_overload(self, node: Call, function: Function) -> None:
        given = [operand.type for operand in node.operands()]
        if function.name in ("_&&_", "_||_"):
            self._check_logical(node, given)
            return
        result: CelType | None = None
        ids: list[str] = []
        for overload in function.overloads:
            if overload.is_member is not (node.target is not None):
                continue
            outcome = self._apply(overload, given)
            if outcome is None:
                continue
            ids.append(overload.id)
            if result is None:
                result = outcome
            elif not result.is_dyn and outcome != result:
                result = DYN
        if result is None:
            self._no_overload(node, function.name, given)
            return
        node.type, node.overloads = result, tuple(ids)

    def _check_logical(self, node: Call, given: Sequence[CelType]) -> None:
        """A chain is a balanced tree in the original: a term spoils only the pair that it belongs to."""
        last = len(given) - 1
        node.type = BOOL
        node.overloads = ("logical_and" if node.function == "_&&_" else "logical_or",)
        for index, (arg, cel_type) in enumerate(zip(node.args, given, strict=True)):
            if not self.bindings.assign(cel_type, BOOL):
                self._mismatch(arg, BOOL, cel_type)
                if last == 1 or (last == 2 and index == 2):
                    node.type = ERROR

    def _apply(self, overload: Overload, given: Sequence[CelType]) -> CelType | None:
        """The type of the result if the arguments fit."""
        args, result = overload.args, overload.result
        if overload.variables:
            fresh = TypeBindings()
            for variable in overload.variables:
                fresh.bind(variable, self._new_variable())
            args = tuple(map(fresh.resolve, args))
            result = fresh.resolve(result)
        if not self.bindings.assign_all(given, args):
            return None
        return self.bindings.resolve(result)

    def _no_overload(self, node: Call, name: str, given: Sequence[CelType]) -> None:
        texts = [self.bindings.resolve(cel_type, free_is_dyn=True).text for cel_type in given]
        target = "" if node.target is None else f"{texts.pop(0)}."
        signature = f"{target}({', '.join(texts)})"
        self._report(node, f"found no matching overload for '{name}' applied to '{signature}'")

    # --- literals -------------------------------------------------------------------------------------

    def _check_list(self, node: ListLiteral) -> None:
        joined: CelType | None = None
        for index, element in enumerate(node.elements):
            self.check(element)
            joined = self._join(element, joined, self._element_type(element, index in node.optional))
        node.type = list_of(self._new_variable() if joined is None else joined)

    def _element_type(self, node: Expression, optional: bool) -> CelType:
        if not optional:
            return node.type
        inner, was_optional = unwrap_optional(node.type)
        if not was_optional and not inner.is_dyn:
            self._mismatch(node, optional_of(inner), inner)
        return inner

    def _check_map(self, node: MapLiteral) -> None:
        key: CelType | None = None
        value: CelType | None = None
        for entry in node.entries:
            self.check(entry.key)
            key = self._join(entry.key, key, entry.key.type)
            self.check(entry.value)
            value = self._join(entry.value, value, self._element_type(entry.value, entry.optional))
        if key is None or value is None:
            key, value = self._new_variable(), self._new_variable()
        node.type = map_of(key, value)

    def _join(self, node: Expression, before: CelType | None, current: CelType) -> CelType:
        """The type of elements so far; whether they are mixed is a matter of validation."""
        if before is None:
            return current
        if self.bindings.assign(before, current):
            return most_general(before, current)
        return DYN

    def _check_message(self, node: MessageLiteral) -> None:
        found = self._lookup(node.type_name)
        if found is None:
            self._undeclared(node, node.type_name)
            return
        if found[0].kind is not Kind.TYPE:
            self._report(node, f"'{found[0].name}' is not a type")
        else:
            self._report(node, f"'{found[0].params[0].name}' is not a message type")
        for entry in node.entries:
            self.check(entry.value)
            self._report(entry, f"unexpected failed resolution of '{node.type_name}'")

    # --- comprehensions -------------------------------------------------------------------------------

    def _check_comprehension(self, node: Comprehension) -> None:
        self.check(node.iter_range)
        self.check(node.accu_init)
        accumulated = node.accu_init.type
        self._scopes.append({node.accu_var: accumulated})
        self._scopes.append(self._iteration_scope(node))
        self.check(node.condition)
        self._assert_type(node.condition, BOOL)
        self.check(node.step)
        self._assert_type(node.step, accumulated)
        self._scopes.pop()
        self.check(node.result)
        self._scopes.pop()
        node.type = self.bindings.resolve(node.result.type)

    def _iteration_scope(self, node: Comprehension) -> dict[str, CelType]:
        first, second = self._iteration_types(node)
        scope = {node.iter_var: first}
        if node.iter_var2:
            scope[node.iter_var2] = second
        return scope

    def _iteration_types(self, node: Comprehension) -> tuple[CelType, CelType]:
        ranged = self.bindings.resolve(node.iter_range.type)
        if ranged.kind is Kind.LIST:
            element = ranged.params[0]
            return (INT, element) if node.iter_var2 else (element, element)
        if ranged.kind is Kind.MAP:
            return ranged.params[0], ranged.params[1]
        if ranged.kind in (Kind.DYN, Kind.ERROR, Kind.PARAMETER):
            self.bindings.assign(DYN, ranged)
            return DYN, DYN
        self._report(
            node.iter_range,
            f"expression of type '{ranged.text}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return ERROR, ERROR

    def _assert_type(self, node: Expression, wanted: CelType) -> None:
        if not self.bindings.assign(wanted, node.type):
            self._mismatch(node, wanted, node.type)
