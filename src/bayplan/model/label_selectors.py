"""Label selectors, compiled: requirements over labels that can be evaluated, compared and used as keys.

In: a LabelSelector as an object has it. Out: a `Selector`. Two selectors that mean the same, in another order or
with matchLabels instead of an In expression with one value, are equal and have the same hash, so results can be
cached by selector. No selector at all matches nothing; an empty one matches everything.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

from bayplan.model.kube_object import LabelSelector, LabelSelectorRequirement
from bayplan.model.label_validation import invalid, join_errors, label_key_errors, label_value_errors

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
GT: Final = "Gt"
LT: Final = "Lt"

_OPERATORS = frozenset({IN, NOT_IN, EXISTS, DOES_NOT_EXIST})


class SelectorError(ValueError):
    """A selector that is invalid, in Kubernetes' words; `errors` has each error."""

    def __init__(self, *errors: str) -> None:
        self.errors = errors
        super().__init__(join_errors(errors))


class Requirement:
    """One condition on one key. `number` is the bound of Gt and Lt, None for the other operators."""

    __slots__ = ("_hash", "key", "number", "operator", "values")

    def __init__(self, key: str, operator: str, values: Iterable[str] = ()) -> None:
        self.key = key
        self.operator = operator
        self.values: frozenset[str] = frozenset(values)
        self.number: int | None = None
        if operator in (GT, LT) and len(self.values) == 1:
            self.number = parse_int64(next(iter(self.values)))
        self._hash = hash((key, operator, self.values))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet this condition; a missing key meets NotIn and DoesNotExist only."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        return value is not None and self._compares(value)

    def _compares(self, value: str) -> bool:
        number = parse_int64(value)
        if number is None or self.number is None:
            return False
        return number > self.number if self.operator == GT else number < self.number

    @property
    def sort_key(self) -> tuple[str, str, list[str]]:
        """The place of this requirement in the canonical order."""
        return self.key, self.operator, sorted(self.values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Requirement):
            return NotImplemented
        return (self.key, self.operator, self.values) == (other.key, other.operator, other.values)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Requirement({self.key!r}, {self.operator!r}, {sorted(self.values)!r})"

    def __str__(self) -> str:
        """As in a selector on the command line: `app in (a,b)`, `!gpu`, `cores>4`."""
        values = ",".join(sorted(self.values))
        match self.operator:
            case "In":
                return f"{self.key}={values}" if len(self.values) == 1 else f"{self.key} in ({values})"
            case "NotIn":
                return f"{self.key} notin ({values})"
            case "Exists":
                return self.key
            case "DoesNotExist":
                return f"!{self.key}"
        return f"{self.key}{'>' if self.operator == GT else '<'}{values}"


class Selector:
    """Requirements that must all hold, in canonical order; `None` of them (see NOTHING) matches nothing."""

    __slots__ = ("_hash", "is_empty", "matches_nothing", "requirements")

    def __init__(self, requirements: Iterable[Requirement] | None = ()) -> None:
        self.requirements: tuple[Requirement, ...] | None = None
        if requirements is not None:
            self.requirements = tuple(sorted(set(requirements), key=lambda each: each.sort_key))
        #: Whether this is the selector of an object that has none.
        self.matches_nothing = self.requirements is None
        #: Whether this selects everything.
        self.is_empty = self.requirements == ()
        self._hash = hash(self.requirements)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet all requirements."""
        if self.requirements is None:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def with_requirements(self, *more: Requirement) -> "Selector":
        """This selector and the given requirements; nothing stays nothing."""
        return self if self.requirements is None else Selector((*self.requirements, *more))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return self is other or (self._hash == other._hash and self.requirements == other.requirements)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return "NOTHING" if self.requirements is None else f"Selector({str(self)!r})"

    def __str__(self) -> str:
        return ",".join(str(each) for each in self.requirements or ())


NOTHING: Final = Selector(None)
EVERYTHING: Final = Selector()


def selector_from_labels(labels: Mapping[str, str]) -> Selector:
    """A selector for exactly these labels, unchecked; no labels select everything."""
    return Selector(Requirement(key, IN, (value,)) for key, value in labels.items())


def compile_selector(selector: LabelSelector | None) -> Selector:
    """Compile a selector as written in an object; None matches nothing. Raises SelectorError."""
    if selector is None:
        return NOTHING
    return _compile(tuple(sorted(selector.match_labels.items())), selector.match_expressions)


@lru_cache(maxsize=4096)
def _compile(labels: tuple[tuple[str, str], ...], expressions: tuple[LabelSelectorRequirement, ...]) -> Selector:
    requirements = [checked_requirement(key, IN, (value,)) for key, value in labels]
    for expression in expressions:
        if expression.operator not in _OPERATORS:
            raise SelectorError(f'"{expression.operator}" is not a valid label selector operator')
        requirements.append(checked_requirement(expression.key, expression.operator, expression.values))
    return Selector(requirements)


def checked_requirement(key: str, operator: str, values: tuple[str, ...], path: str = "") -> Requirement:
    """A requirement whose key, values and number of values are valid. Raises SelectorError with all errors."""
    at = f"{path}." if path else ""
    errors = [invalid(f"{at}key", key, "; ".join(problems))] if (problems := label_key_errors(key)) else []
    errors += _count_errors(operator, values, f"{at}values")
    for i, value in enumerate(values):
        if problems := label_value_errors(value):
            errors.append(invalid(f"{at}values[{i}][{key}]", value, "; ".join(problems)))
    if errors:
        raise SelectorError(*errors)
    return Requirement(key, operator, values)


def _count_errors(operator: str, values: tuple[str, ...], path: str) -> list[str]:
    if operator in (IN, NOT_IN):
        text = "for 'in', 'notin' operators, values set can't be empty"
        return [] if values else [invalid(path, values, text)]
    if operator in (EXISTS, DOES_NOT_EXIST):
        text = "values set must be empty for exists and does not exist"
        return [invalid(path, values, text)] if values else []
    errors = []
    if len(values) != 1:
        errors.append(invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
    for i, value in enumerate(values):
        if parse_int64(value) is None:
            text = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors.append(invalid(f"{path}[{i}]", value, text))
    return errors


def parse_int64(text: str) -> int | None:
    """A decimal int64 as Go's strconv.ParseInt reads it: a sign and digits, nothing else; None otherwise."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdecimal()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > 19:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if -(2**63) <= number < 2**63 else None
