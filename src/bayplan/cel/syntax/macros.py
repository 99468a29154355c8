"""Macros: calls that the parser replaces by other expressions.

A macro is known by its name, the number of its arguments and whether it has a target. It returns the expansion, or
None if the call is no macro after all; bad arguments raise MacroError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

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

ACCUMULATOR = "__result__"
#: The iteration variable of a comprehension that is a mere binding; no name of a user.
UNUSED = "#unused"
_SORT_INPUT = "@__sortBy_input__"
_OVERWRITES = "iteration variable overwrites accumulator variable"


class MacroError(Exception):
    """Arguments that a macro cannot take."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


class _Builder:
    """Makes nodes that are shown at the place of the macro's call."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def literal(self, value: Any) -> Expression:
        return Literal(self.offset, value)

    def ident(self, name: str = ACCUMULATOR) -> Expression:
        return Identifier(self.offset, name)

    def call(self, function: str, *args: Expression) -> Expression:
        return Call(self.offset, function, None, list(args))

    def member_call(self, function: str, target: Expression, *args: Expression) -> Expression:
        return Call(self.offset, function, target, list(args))

    def list(self, *elements: Expression) -> Expression:
        return ListLiteral(self.offset, list(elements))

    def fold(
        self,
        iter_range: Expression,
        names: tuple[str, str],
        *,
        init: Expression,
        condition: Expression,
        step: Expression,
        result: Expression | None = None,
    ) -> Expression:
        end = self.ident() if result is None else result
        return Comprehension(self.offset, iter_range, names[0], names[1], ACCUMULATOR, init, condition, step, end)

    def bind(self, name: str, value: Expression, result: Expression) -> Expression:
        never = self.literal(False)
        return Comprehension(self.offset, self.list(), UNUSED, "", name, value, never, self.ident(name), result)


Macro = Callable[[_Builder, Expression | None, Sequence[Expression]], Expression | None]


def expand(
    macros: Mapping[tuple[str, int, bool], Macro],
    offset: int,
    function: str,
    target: Expression | None,
    args: Sequence[Expression],
) -> Expression | None:
    """The expansion of a call, or None if it is an ordinary one. Raises MacroError."""
    macro = macros.get((function, len(args), target is not None))
    return None if macro is None else macro(_Builder(offset), target, args)


def _copied(node: Expression) -> Expression:
    """The same expression again; each place has its own types."""
    from copy import deepcopy

    return deepcopy(node)


def _range(target: Expression | None) -> Expression:
    assert target is not None  # noqa: S101 - receiver macros have a target
    return target


# --- names of variables -----------------------------------------------------------------------------------


def _variable(node: Expression, message: str) -> str:
    if not isinstance(node, Identifier):
        raise MacroError(node.offset, message)
    if node.name == ACCUMULATOR:
        raise MacroError(node.offset, _OVERWRITES)
    return node.name


def _one(args: Sequence[Expression], message: str = "argument must be a simple name") -> tuple[str, str]:
    return _variable(args[0], message), ""


def _two(args: Sequence[Expression]) -> tuple[str, str]:
    for node in args[:2]:
        if not isinstance(node, Identifier):
            raise MacroError(node.offset, "argument must be a simple name")
    first, second = (node.name for node in args[:2] if isinstance(node, Identifier))
    if first == second:
        raise MacroError(args[1].offset, f"duplicate variable name: {first}")
    for node in args[:2]:
        _variable(node, "")
    return first, second


# --- the macros of the language ---------------------------------------------------------------------------


def _has(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    if not isinstance(args[0], Select):
        raise MacroError(args[0].offset, "invalid argument to has() macro")
    return Select(build.offset, args[0].operand, args[0].field_name, test_only=True)


def _quantifier(kind: str, names: Callable[[Sequence[Expression]], tuple[str, str]]) -> Macro:
    def macro(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
        return _QUANTIFIERS[kind](build, _range(target), names(args), args[-1])

    return macro


def _all(build: _Builder, target: Expression, names: tuple[str, str], test: Expression) -> Expression:
    return build.fold(
        target,
        names,
        init=build.literal(True),
        condition=build.call("@not_strictly_false", build.ident()),
        step=build.call("_&&_", build.ident(), test),
    )


def _exists(build: _Builder, target: Expression, names: tuple[str, str], test: Expression) -> Expression:
    return build.fold(
        target,
        names,
        init=build.literal(False),
        condition=build.call("@not_strictly_false", build.call("!_", build.ident())),
        step=build.call("_||_", build.ident(), test),
    )


def _exists_one(build: _Builder, target: Expression, names: tuple[str, str], test: Expression) -> Expression:
    one_more = build.call("_+_", build.ident(), build.literal(1))
    return build.fold(
        target,
        names,
        init=build.literal(0),
        condition=build.literal(True),
        step=build.call("_?_:_", test, one_more, build.ident()),
        result=build.call("_==_", build.ident(), build.literal(1)),
    )


_QUANTIFIERS = {"all": _all, "exists": _exists, "exists_one": _exists_one}


def _collect(
    build: _Builder,
    target: Expression | None,
    names: tuple[str, str],
    step: Expression,
    *,
    only_if: Expression | None = None,
    init: Expression | None = None,
) -> Expression:
    """A fold that adds something for every element, or for those of a kind."""
    if only_if is not None:
        step = build.call("_?_:_", only_if, step, build.ident())
    start = build.list() if init is None else init
    return build.fold(_range(target), names, init=start, condition=build.literal(True), step=step)


def _map(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    names = _one(args, "argument is not an identifier")
    step = build.call("_+_", build.ident(), build.list(args[-1]))
    return _collect(build, target, names, step, only_if=args[1] if len(args) == 3 else None)


def _filter(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    names = _one(args, "argument is not an identifier")
    step = build.call("_+_", build.ident(), build.list(args[0]))
    return _collect(build, target, names, step, only_if=args[1])


def _transform_list(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    names = _two(args)
    step = build.call("_+_", build.ident(), build.list(args[-1]))
    return _collect(build, target, names, step, only_if=args[2] if len(args) == 4 else None)


def _transform_map(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    names = _two(args)
    step = build.call("cel.@mapInsert", build.ident(), build.ident(names[0]), args[-1])
    only_if = args[2] if len(args) == 4 else None
    return _collect(build, target, names, step, only_if=only_if, init=MapLiteral(build.offset, []))


def _transform_map_entry(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    names = _two(args)
    step = build.call("cel.@mapInsert", build.ident(), args[-1])
    only_if = args[2] if len(args) == 4 else None
    return _collect(build, target, names, step, only_if=only_if, init=MapLiteral(build.offset, []))


# --- the macros of extensions -----------------------------------------------------------------------------


def _bind(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression | None:
    if not isinstance(target, Identifier) or target.name != "cel":
        return None
    if not isinstance(args[0], Identifier):
        raise MacroError(args[0].offset, "cel.bind() variable names must be simple identifiers")
    return build.bind(args[0].name, args[1], args[2])


def _opt_map(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    return _on_value("optMap", build, _range(target), args, wrap=True)


def _opt_flat_map(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    return _on_value("optFlatMap", build, _range(target), args, wrap=False)


def _on_value(
    name: str, build: _Builder, target: Expression, args: Sequence[Expression], *, wrap: bool
) -> Expression:
    if not isinstance(args[0], Identifier):
        raise MacroError(args[0].offset, f"{name}() variable name must be a simple identifier")
    value = build.member_call("value", _copied(target))
    result = build.bind(args[0].name, value, args[1])
    return build.call(
        "_?_:_",
        build.member_call("hasValue", target),
        build.call("optional.of", result) if wrap else result,
        build.call("optional.none"),
    )


def _sort_by(build: _Builder, target: Expression | None, args: Sequence[Expression]) -> Expression:
    items = _range(target)
    if isinstance(items, Literal | MapLiteral):
        message = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(items.offset, message)
    keys = _map(build, build.ident(_SORT_INPUT), args)
    by_keys = build.member_call("@sortByAssociatedKeys", build.ident(_SORT_INPUT), keys)
    return build.bind(_SORT_INPUT, items, by_keys)


Macros = Mapping[tuple[str, int, bool], Macro]

MACROS: Macros = {
    ("has", 1, False): _has,
    ("all", 2, True): _quantifier("all", _one),
    ("exists", 2, True): _quantifier("exists", _one),
    ("exists_one", 2, True): _quantifier("exists_one", _one),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
    ("all", 3, True): _quantifier("all", _two),
    ("exists", 3, True): _quantifier("exists", _two),
    ("exists_one", 3, True): _quantifier("exists_one", _two),
    ("existsOne", 3, True): _quantifier("exists_one", _two),
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
    ("optMap", 2, True): _opt_map,
    ("optFlatMap", 2, True): _opt_flat_map,
    ("sortBy", 2, True): _sort_by,
}
BIND: Macros = {("bind", 3, True): _bind}
