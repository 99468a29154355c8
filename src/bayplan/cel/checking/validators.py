"""What is checked after types: literals that their function will refuse, and lists and maps of one type."""

from __future__ import annotations

from collections.abc import Iterator

from bayplan.cel.cel_errors import EvaluationError, Issue
from bayplan.cel.checking.cel_types import CelType, Kind
from bayplan.cel.checking.environment import CelEnvironment
from bayplan.cel.functions.text_format import COMPLAINTS, FormatError, read_format
from bayplan.cel.regex.linear_regex import compile_regex
from bayplan.cel.regex.pattern import PatternError
from bayplan.cel.syntax.expression import Call, Expression, ListLiteral, Literal, MapLiteral, walk

_INTEGERS = (Kind.INT, Kind.UINT)
_DOUBLES = (Kind.DOUBLE, Kind.STRING)
_TEXTUAL = (
    Kind.LIST, Kind.MAP, Kind.INT, Kind.UINT, Kind.DOUBLE, Kind.BOOL, Kind.STRING, Kind.TIMESTAMP, Kind.BYTES,
    Kind.DURATION, Kind.TYPE, Kind.NULL,
)  # fmt: skip
#: Clause of a format → the types that it takes.
_CLAUSES = {
    "s": _TEXTUAL,
    "d": _INTEGERS,
    "f": _DOUBLES,
    "e": _DOUBLES,
    "b": (*_INTEGERS, Kind.BOOL),
    "x": (*_INTEGERS, Kind.STRING, Kind.BYTES),
    "o": _INTEGERS,
}


def validate(tree: Expression, environment: CelEnvironment) -> list[Issue]:
    """What is wrong with a tree whose types are right."""
    exempt = {id(node) for call in walk(tree) if _is_call(call, "format") for node in walk(call)}
    issues: list[Issue] = []
    for node in walk(tree):
        if isinstance(node, Call):
            issues.extend(_literal_argument(node, environment))
            issues.extend(_format_arguments(node))
        elif id(node) not in exempt:
            issues.extend(_mixed_types(node))
    return issues


def _is_call(node: Expression, function: str) -> bool:
    return isinstance(node, Call) and node.function == function


# --- arguments of conversions -----------------------------------------------------------------------------


def _literal_argument(node: Call, environment: CelEnvironment) -> Iterator[Issue]:
    if node.function not in ("duration", "timestamp", "matches") or not node.args:
        return
    argument = node.args[0]
    if isinstance(argument, Literal) and not _is_accepted(node.function, argument.value, environment):
        yield Issue(argument.offset, f"invalid {node.function} argument")


def _is_accepted(function: str, value: object, environment: CelEnvironment) -> bool:
    try:
        if function == "matches":
            compile_regex(str(value))
            return True
        for overload in environment.library.functions[function].overloads:
            if overload.implementation is not None and overload.accepts((value,)):
                overload.implementation(value)
                return True
    except (EvaluationError, PatternError):
        return False
    return False


# --- elements of one type ---------------------------------------------------------------------------------


def _mixed_types(node: Expression) -> Iterator[Issue]:
    if isinstance(node, ListLiteral):
        types = [
            element.type.params[0] if index in node.optional and element.type.params else element.type
            for index, element in enumerate(node.elements)
        ]
        for element, cel_type in zip(node.elements, types, strict=True):
            if cel_type != types[0]:
                yield _mismatch(element, types[0], cel_type)
                return
    elif isinstance(node, MapLiteral) and node.entries:
        first = node.entries[0]
        value_type = _value_type(first.value, optional=first.optional)
        for entry in node.entries[1:]:
            if entry.key.type != first.key.type:
                yield _mismatch(entry.key, first.key.type, entry.key.type)
            if (other := _value_type(entry.value, optional=entry.optional)) != value_type:
                yield _mismatch(entry.value, value_type, other)


def _value_type(value: Expression, *, optional: bool) -> CelType:
    return value.type.params[0] if optional and value.type.params else value.type


def _mismatch(node: Expression, expected: CelType, actual: CelType) -> Issue:
    return Issue(node.offset, f"expected type '{expected.text}' but found '{actual.text}'")


# --- formats ----------------------------------------------------------------------------------------------


def _format_arguments(node: Call) -> Iterator[Issue]:
    """A constant format with a literal list: each clause must suit its argument, and none may be left over."""
    if node.overloads != ("string_format",) or not isinstance(node.target, Literal):
        return
    arguments = node.args[0]
    if not isinstance(arguments, ListLiteral):
        return
    taken = 0
    try:
        for clause in read_format(node.target.value):
            if clause.letter == "%":
                if taken >= len(arguments.elements):
                    raise FormatError(f"index {taken} out of range")
            elif clause.letter:
                bad = _unsuitable(arguments.elements[taken], clause.letter.lower())
                if bad is not None:
                    yield bad
                    return
                taken += 1
    except FormatError as error:
        yield Issue(node.offset, str(error))
        return
    if taken < len(arguments.elements):
        message = "too many arguments supplied to string.format"
        yield Issue(node.offset, f"{message} (expected {taken}, got {len(arguments.elements)})")


def _unsuitable(argument: Expression, letter: str) -> Issue | None:
    parts = _elements(argument) if letter == "s" else iter((argument,))
    for part in parts:
        if part.type.kind is not Kind.DYN and part.type.kind not in _CLAUSES[letter]:
            message = f"error during formatting: {COMPLAINTS[letter]}, was given {part.type.name}"
            return Issue(part.offset, message)
    return None


def _elements(node: Expression) -> Iterator[Expression]:
    """A node, and the elements of lists and maps that are written out."""
    yield node
    if isinstance(node, ListLiteral | MapLiteral):
        for child in node.children():
            yield from _elements(child)
