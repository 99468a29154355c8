"""The tree of an expression. The parser makes it; the checker writes types and overloads into it.

Macros are gone after parsing: `all`, `map` and the like are comprehensions, `has` is a select that tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bayplan.cel.checking.cel_types import ERROR, CelType


@dataclass(slots=True, eq=False)
class Expression:
    """A node. Errors about it are shown at its offset in the source."""

    offset: int
    type: CelType = field(default=ERROR, init=False)

    def children(self) -> Iterator[Expression]:
        """The parts, in the order of evaluation."""
        yield from ()


@dataclass(slots=True, eq=False)
class Literal(Expression):
    """A constant, as a CEL value."""

    value: Any


@dataclass(slots=True, eq=False)
class Identifier(Expression):
    """A variable, or the name of a type. A dotted name that is one variable is one identifier."""

    name: str
    #: The value of a name of a type.
    constant: CelType | None = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(Expression):
    """`operand.field`, or `has(operand.field)`."""

    operand: Expression
    field_name: str
    test_only: bool = False
    #: Set by the checker where the whole is one dotted name.
    resolved: Identifier | None = field(default=None, init=False)

    def children(self) -> Iterator[Expression]:
        yield self.operand


@dataclass(slots=True, eq=False)
class Call(Expression):
    """`function(args)`, `target.function(args)` or an operator such as `_+_`."""

    function: str
    target: Expression | None
    args: list[Expression]
    #: The ids of the overloads that the types of the arguments allow.
    overloads: tuple[str, ...] = field(default=(), init=False)

    def children(self) -> Iterator[Expression]:
        if self.target is not None:
            yield self.target
        yield from self.args

    def operands(self) -> list[Expression]:
        """The arguments, with the target as the first."""
        return self.args if self.target is None else [self.target, *self.args]


@dataclass(slots=True, eq=False)
class ListLiteral(Expression):
    """`[a, ?b]`."""

    elements: list[Expression]
    optional: frozenset[int] = frozenset()

    def children(self) -> Iterator[Expression]:
        yield from self.elements


@dataclass(slots=True, eq=False)
class MapEntry:
    """`key: value` or `?key: value`; also `field: value`, whose key is a name."""

    offset: int
    key: Expression
    value: Expression
    optional: bool


@dataclass(slots=True, eq=False)
class MapLiteral(Expression):
    """`{key: value}`."""

    entries: list[MapEntry]

    def children(self) -> Iterator[Expression]:
        for entry in self.entries:
            yield entry.key
            yield entry.value


@dataclass(slots=True, eq=False)
class MessageLiteral(Expression):
    """`Name{field: value}`; no type of Kubernetes can be made this way, so it never passes the checker."""

    type_name: str
    entries: list[MapEntry]

    def children(self) -> Iterator[Expression]:
        for entry in self.entries:
            yield entry.value


@dataclass(slots=True, eq=False)
class Comprehension(Expression):
    """A loop over a list or map that folds into an accumulator; what most macros become.

    `cel.bind` is one over an empty list: the accumulator is the variable, the result the expression.
    """

    iter_range: Expression
    iter_var: str
    #: The second variable of a loop over index and element, or key and value; else empty.
    iter_var2: str
    accu_var: str
    accu_init: Expression
    condition: Expression
    step: Expression
    result: Expression

    def children(self) -> Iterator[Expression]:
        yield from (self.iter_range, self.accu_init, self.condition, self.step, self.result)


def walk(root: Expression) -> Iterator[Expression]:
    """The node and everything below it, a parent before its children."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(list(node.children())))


def qualified_name(node: Expression) -> str | None:
    """`a.b.c` as a dotted name, if the node is nothing but names."""
    if isinstance(node, Identifier):
        return node.name
    if isinstance(node, Select) and not node.test_only:
        prefix = qualified_name(node.operand)
        return None if prefix is None else f"{prefix}.{node.field_name}"
    return None
