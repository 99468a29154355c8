"""Semantic versions: `semver("1.2.3")`, and attributes of devices that are versions."""

from __future__ import annotations

from functools import lru_cache, total_ordering
from typing import Final

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.cel_types import SEMVER
from bayplan.cel.checking.declarations import Library
from bayplan.cel.runtime.cel_values import MAX_INT, MAX_UINT, register

_DIGITS: Final = frozenset("0123456789")
_ALPHANUMERIC: Final = frozenset("0123456789-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


@total_ordering
class SemanticVersion:
    """A version with its precedence; build metadata does not count."""

    __slots__ = ("_key", "core", "text")

    def __init__(self, core: tuple[int, int, int], prerelease: tuple[str, ...], text: str) -> None:
        self.core = core
        self.text = text
        self._key = (core, not prerelease, tuple(map(_precedence, prerelease)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SemanticVersion) and self._key == other._key

    def __lt__(self, other: SemanticVersion) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self.text


register(SemanticVersion, SEMVER)


def _precedence(identifier: str) -> tuple[bool, int, str]:
    """Numbers come before words."""
    if _DIGITS.issuperset(identifier):
        return False, int(identifier), ""
    return True, 0, identifier


@lru_cache(maxsize=4096)
def parse_version(text: str) -> SemanticVersion:
    """Read a version. Raises EvaluationError with the text of the original's parser."""
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    rest, build_text = _cut(parts[2], "+")
    patch, prerelease_text = _cut(rest, "-")
    core = (_number(parts[0], "major"), _number(parts[1], "minor"), _number(patch, "patch"))
    prerelease = _prerelease(prerelease_text)
    _check_build(build_text)
    return SemanticVersion(core, prerelease, _canonical(core, prerelease_text, build_text))


def _cut(text: str, separator: str) -> tuple[str, str | None]:
    head, found, tail = text.partition(separator)
    return head, tail if found else None


def _canonical(core: tuple[int, int, int], prerelease: str | None, build: str | None) -> str:
    text = ".".join(map(str, core))
    return text + (f"-{prerelease}" if prerelease else "") + (f"+{build}" if build else "")


def _number(text: str, part: str) -> int:
    if not _DIGITS.issuperset(text):
        raise EvaluationError(f"Invalid character(s) found in {part} number {_quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{part.capitalize()} number must not contain leading zeroes {_quoted(text)}")
    return _parsed(text)


def _parsed(text: str) -> int:
    if not text:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > 20 or int(text) > MAX_UINT:
        raise EvaluationError(f"strconv.ParseUint: parsing {_quoted(text)}: value out of range")
    return int(text)


def _prerelease(text: str | None) -> tuple[str, ...]:
    if text is None:
        return ()
    identifiers = text.split(".")
    for identifier in identifiers:
        _check_prerelease(identifier)
    return tuple(identifiers)


def _check_prerelease(identifier: str) -> None:
    if not identifier:
        raise EvaluationError("Prerelease is empty")
    if _DIGITS.issuperset(identifier):
        if len(identifier) > 1 and identifier[0] == "0":
            raise EvaluationError(
                f"Numeric PreRelease version must not contain leading zeroes {_quoted(identifier)}"
            )
        _parsed(identifier)
    elif not _ALPHANUMERIC.issuperset(identifier):
        raise EvaluationError(f"Invalid character(s) found in prerelease {_quoted(identifier)}")


def _check_build(text: str | None) -> None:
    for identifier in () if text is None else text.split("."):
        if not identifier:
            raise EvaluationError("Build meta data is empty")
        if not _ALPHANUMERIC.issuperset(identifier):
            raise EvaluationError(f"Invalid character(s) found in build meta data {_quoted(identifier)}")


def _quoted(text: str) -> str:
    from bayplan.cel.functions.quoting import go_quote

    return go_quote(text)


def _normalized(text: str) -> str:
    """With the leniency that the second argument of `semver` asks for: v, leading zeros, missing parts."""
    parts = text.removeprefix("v").split(".", 2)
    for index, part in enumerate(parts):
        if len(part) > 1:
            trimmed = part.lstrip("0")
            parts[index] = trimmed if trimmed and trimmed[0] in _DIGITS else f"0{trimmed}"
    if len(parts) < 3 and ("+" in parts[-1] or "-" in parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, *["0"] * (3 - len(parts))])


def _semver(text: str, normalize: bool = False) -> SemanticVersion:
    return parse_version(_normalized(text) if normalize else text)


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _compare(first: SemanticVersion, second: SemanticVersion) -> int:
    return (first > second) - (first < second)


def _as_int(number: int) -> int:
    """The low 64 bits as a signed number."""
    return number if number <= MAX_INT else number - 2**64


def declare_semantic_versions() -> Library:
    """Kubernetes' semver library."""
    library = Library()
    add = library.overload
    add("semver", "(string) -> semver", "string_to_semver", _semver)
    add("semver", "(string, bool) -> semver", "string_bool_to_semver", _semver)
    add("isSemver", "(string) -> bool", "is_semver_string", _is_semver)
    add("isSemver", "(string, bool) -> bool", "is_semver_string_bool", _is_semver)
    add("isGreaterThan", "semver.(semver) -> bool", "semver_is_greater_than", lambda a, b: a > b)
    add("isLessThan", "semver.(semver) -> bool", "semver_is_less_than", lambda a, b: a < b)
    add("compareTo", "semver.(semver) -> int", "semver_compare_to", _compare)
    for index, part in enumerate(("major", "minor", "patch")):
        add(part, "semver.() -> int", f"semver_{part}", lambda version, index=index: _as_int(version.core[index]))
    return library
