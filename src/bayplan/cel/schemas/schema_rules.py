"""Rules of a schema, compiled: whether `self` is right, and what to say if it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bayplan.cel.cel_errors import CelCompileError
from bayplan.cel.checking.cel_types import BOOL, STRING, CelType, optional_of
from bayplan.cel.checking.environment import CelEnvironment
from bayplan.cel.checking.estimates import Path, Range, estimate_cost
from bayplan.cel.functions.call_estimates import estimate_call
from bayplan.cel.functions.kubernetes_library import TYPE_NAMES, kubernetes_library
from bayplan.cel.program import CelProgram, compile_program
from bayplan.cel.runtime.cel_values import NONE, OptionalValue
from bayplan.cel.schemas.schema_types import SchemaType
from bayplan.cel.syntax.expression import Expression, Identifier
from bayplan.cel.syntax.macros import BIND, MACROS

#: The most that one evaluation may cost.
CALL_LIMIT: Final = 1_000_000
_SELF, _OLD_SELF = "self", "oldSelf"


@dataclass(slots=True)
class CompiledRule:
    """A rule; without a program it did not compile."""

    rule: Mapping[str, Any]
    program: CelProgram | None = None
    #: Why it does not compile, in upstream's words.
    error: str = ""
    uses_old_self: bool = False
    max_cost: int = 0
    message: CelProgram | None = None
    message_error: str = ""
    message_max_cost: int = 0

    @property
    def has_optional_old_self(self) -> bool:
        return bool(self.rule.get("optionalOldSelf"))

    @property
    def text(self) -> str:
        """What errors call it."""
        return str(self.rule.get("message") or self.rule.get("rule", "")).strip()

    def variables(self, value: Any, old: Any, *, has_old: bool) -> Sequence[Any]:
        """`self` and `oldSelf`."""
        if not self.has_optional_old_self:
            return value, old
        return value, OptionalValue(old) if has_old else NONE


def compile_rules(rules: Sequence[Mapping[str, Any]], of: SchemaType) -> list[CompiledRule]:
    """The rules about values of the type."""
    structs = of.structs()
    plain = _environment(of.cel_type, of.cel_type, structs)
    optional = _environment(of.cel_type, optional_of(of.cel_type), structs)
    return [_compiled(rule, optional if rule.get("optionalOldSelf") else plain, of) for rule in rules]


def _environment(
    self_type: CelType, old_type: CelType, structs: Mapping[str, Mapping[str, CelType]]
) -> CelEnvironment:
    return CelEnvironment(
        variables={_SELF: self_type, _OLD_SELF: old_type},
        type_names=TYPE_NAMES,
        library=kubernetes_library(),
        macros={**MACROS, **BIND},
        structs=structs,
    )


def _compiled(rule: Mapping[str, Any], environment: CelEnvironment, of: SchemaType) -> CompiledRule:
    found = CompiledRule(rule)
    try:
        found.program = compile_program(rule.get("rule", ""), environment, _must_be_bool)
    except CelCompileError as error:
        found.error = str(error)
        return found
    found.uses_old_self = any(
        isinstance(each, Identifier) and each.name == _OLD_SELF for each in _nodes(found.program.tree)
    )
    found.max_cost = _max_cost(found.program, of)
    if rule.get("messageExpression"):
        try:
            found.message = compile_program(rule["messageExpression"], environment, _must_be_string)
            found.message_max_cost = _max_cost(found.message, of)
        except CelCompileError as error:
            found.message_error = f"messageExpression {error}"
    return found


def _must_be_bool(output: CelType) -> None:
    if output != BOOL:
        raise CelCompileError("cel expression must evaluate to a bool")


def _must_be_string(output: CelType) -> None:
    if output != STRING:
        raise CelCompileError("must evaluate to a string")


def _nodes(tree: Expression) -> Iterator[Expression]:
    yield tree
    for child in tree.children():
        yield from _nodes(child)


def _max_cost(program: CelProgram, of: SchemaType) -> int:
    return estimate_cost(program.tree, lambda path: _size(of, path), estimate_call).high


def _size(of: SchemaType, path: Path) -> Range | None:
    """How large what is at a place can be; both variables have the same type."""
    if not path:
        return None
    for step in path[1:]:
        if step == "@keys":
            return Range(0, 0)
        inner = of.element if step in ("@items", "@values") else of.fields.get(step)
        if inner is None:
            return None
        of = inner
    return Range(0, of.max_elements)
