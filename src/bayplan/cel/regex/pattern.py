"""The syntax of RE2 as Go reads it: text to a tree, or Go's message about what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from bayplan.cel.regex.char_sets import (
    PERL_CLASSES,
    POSIX_CLASSES,
    CharTest,
    any_of,
    category,
    folded,
    same_but_case,
)

_MAX_REPEAT: Final = 1000
_MAX_DEPTH: Final = 1000
_MAX_CODE_POINT: Final = 0x10FFFF
_ESCAPES: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class PatternError(ValueError):
    """A text that is no regular expression."""

    def __init__(self, code: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{part}`")


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    test: CharTest


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place between characters: text_start, text_end, line_start, line_end, word_boundary, no_word_boundary."""

    kind: str


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One after the other."""

    parts: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of these; the first is preferred."""

    options: tuple[PatternNode, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """As often as allowed; `most` is -1 for no limit."""

    part: PatternNode
    least: int
    most: int
    greedy: bool


PatternNode = Chars | Assertion | Concatenation | Choice | Repeat


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    multi_line: bool = False
    dot_matches_newline: bool = False
    ungreedy: bool = False


def parse_pattern(text: str) -> PatternNode:
    """The tree of a regular expression. Raises PatternError."""
    parser = _PatternParser(text)
    tree = parser.alternation(_Flags(), 0)
    if parser.rest:
        raise PatternError("unexpected )", text)
    return tree


def _literal(char: str, flags: _Flags) -> PatternNode:
    if flags.ignore_case:
        cases = same_but_case(char)
        return Chars(cases.__contains__)
    return Chars(char.__eq__)


class _PatternParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._names: set[str] = set()

    @property
    def rest(self) -> str:
        """What is left to read."""
        return self._text[self._at :]

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    # --- structure ------------------------------------------------------------------------------------

    def alternation(self, flags: _Flags, depth: int) -> PatternNode:
        """Options up to the end or a closing parenthesis."""
        if depth > _MAX_DEPTH:
            raise PatternError("expression nests too deeply", self._text)
        options = []
        while True:
            part, flags = self._concatenation(flags, depth)
            options.append(part)
            if self._peek() != "|":
                return options[0] if len(options) == 1 else Choice(tuple(options))
            self._at += 1

    def _concatenation(self, flags: _Flags, depth: int) -> tuple[PatternNode, _Flags]:
        parts: list[PatternNode] = []
        repeated_from = -1
        while (char := self._peek()) and char not in "|)":
            start = self._at
            if char in "*+?" or (char == "{" and self._repeat_counts() is not None):
                self._repeat(parts, start, repeated_from, flags)
                repeated_from = start
                continue
            repeated_from = -1
            if self.rest.startswith("(?") and (changed := self._flag_group(flags)) is not None:
                flags = changed
                continue
            parts.extend(self._atom(flags, depth))
        return Concatenation(tuple(parts)) if len(parts) != 1 else parts[0], flags

    def _atom(self, flags: _Flags, depth: int) -> Sequence[PatternNode]:
        char = self._peek()
        if char == "(":
            return [self._group(flags, depth)]
        if char == "[":
            return [self._bracket(flags)]
        if char == "\\":
            return self._escape(flags)
        self._at += 1
        if char == ".":
            return [Chars((lambda char: True) if flags.dot_matches_newline else (lambda char: char != "\n"))]
        if char == "^":
            return [Assertion("line_start" if flags.multi_line else "text_start")]
        if char == "$":
            return [Assertion("line_end" if flags.multi_line else "text_end")]
        return [_literal(char, flags)]

    # --- groups ---------------------------------------------------------------------------------------

    def _group(self, flags: _Flags, depth: int) -> PatternNode:
        if self.rest.startswith("(?"):
            flags = self._group_head(flags)
        else:
            self._at += 1
        inner = self.alternation(flags, depth + 1)
        if self._peek() != ")":
            raise PatternError("missing closing )", self._text)
        self._at += 1
        return inner

    def _group_head(self, flags: _Flags) -> _Flags:
        """`(?P<name>`, `(?<name>`, `(?:` or `(?i:`."""
        for head in ("(?P<", "(?<"):
            if self.rest.startswith(head):
                self._name(head)
                return flags
        changed, end = self._flags(flags)
        assert self._text[end] == ":"  # noqa: S101 - the others are no groups
        self._at = end + 1
        return changed

    def _name(self, head: str) -> None:
        end = self._text.find(">", self._at)
        if end < 0:
            raise PatternError("invalid named capture", self.rest)
        capture = self._text[self._at : end + 1]
        name = capture[len(head) : -1]
        if not name or not all(char == "_" or (char.isascii() and char.isalnum()) for char in name):
            raise PatternError("invalid named capture", capture)
        if name in self._names:
            raise PatternError("duplicate capture group name", name)
        self._names.add(name)
        self._at = end + 1

    def _flag_group(self, flags: _Flags) -> _Flags | None:
        """The flags after `(?i)`, which hold for the rest of the group; None if it is a group with a body."""
        if self.rest.startswith(("(?P<", "(?<")):
            return None
        changed, end = self._flags(flags)
        if self._text[end] == ":":
            return None
        self._at = end + 1
        return changed

    def _flags(self, flags: _Flags) -> tuple[_Flags, int]:
        """The flags of `(?i-s`, and where they end."""
        value, seen, at = True, False, self._at + 2
        names = {"i": "ignore_case", "m": "multi_line", "s": "dot_matches_newline", "U": "ungreedy"}
        while at < len(self._text):
            char = self._text[at]
            if char in names:
                flags = replace(flags, **{names[char]: value})
                seen = True
            elif char == "-" and value:
                value, seen = False, False
            elif char in ":)" and (seen or value):
                return flags, at
            else:
                break
            at += 1
        raise PatternError("invalid or unsupported Perl syntax", self._text[self._at : at + 1])

    # --- repetition -----------------------------------------------------------------------------------

    def _repeat(self, parts: list[PatternNode], start: int, repeated_from: int, flags: _Flags) -> None:
        least, most, end = self._repeat_counts() or (0, 0, start)
        self._at = end
        if self._text[start] == "{" and (least > _MAX_REPEAT or most > _MAX_REPEAT or 0 <= most < least):
            raise PatternError("invalid repeat count", self._text[start:end])
        greedy = not flags.ungreedy
        if self._peek() == "?":
            greedy = not greedy
            self._at += 1
        if repeated_from >= 0:
            raise PatternError("invalid nested repetition operator", self._text[repeated_from : self._at])
        if not parts:
            raise PatternError("missing argument to repetition operator", self._text[start : self._at])
        node = Repeat(parts[-1], least, most, greedy)
        if self._text[start] == "{" and _repeat_product(node) > _MAX_REPEAT:
            raise PatternError("invalid repeat count", self._text[start : self._at])
        parts[-1] = node

    def _repeat_counts(self) -> tuple[int, int, int] | None:
        """Least, most and the end of a repetition; None for a brace that is a plain character."""
        char = self._peek()
        if char != "{":
            return {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[char] + (self._at + 1,)
        end = self._text.find("}", self._at)
        least_text, comma, most_text = self._text[self._at + 1 : max(end, 0)].partition(",")
        if end < 0 or not _is_count(least_text) or not (_is_count(most_text) or (not most_text)):
            return None
        least = _count(least_text)
        most = least if not comma else _count(most_text) if most_text else -1
        return least, most, end + 1

    # --- escapes --------------------------------------------------------------------------------------

    def _escape(self, flags: _Flags) -> Sequence[PatternNode]:
        char = self._text[self._at + 1 : self._at + 2]
        assertions = {"A": "text_start", "z": "text_end", "b": "word_boundary", "B": "no_word_boundary"}
        if char in assertions and char:
            self._at += 2
            return [Assertion(assertions[char])]
        if char == "Q":
            return self._quoted(flags)
        test = self._class_escape(flags)
        return [_literal(self._char_escape(), flags)] if test is None else [Chars(test)]

    def _quoted(self, flags: _Flags) -> Sequence[PatternNode]:
        """`\\Q...\\E`: the text between means itself."""
        start = self._at + 2
        end = self._text.find("\\E", start)
        self._at = len(self._text) if end < 0 else end + 2
        return [_literal(char, flags) for char in self._text[start : len(self._text) if end < 0 else end]]

    def _class_escape(self, flags: _Flags) -> CharTest | None:
        """`\\d`, `\\W`, `\\pL` and the like, or None."""
        char = self._text[self._at + 1 : self._at + 2]
        if char and char in "dDsSwW":
            self._at += 2
            members = PERL_CLASSES[char.lower()]
            test: CharTest = members.__contains__
            return any_of([folded(test) if flags.ignore_case else test], negate=char.isupper())
        return self._category_escape(char, flags) if char and char in "pP" else None

    def _category_escape(self, char: str, flags: _Flags) -> CharTest:
        start = self._at
        if self._text[start + 2 : start + 3] == "{":
            end = self._text.find("}", start)
            name = self._text[start + 3 : end]
            if end < 0:
                raise PatternError("invalid character class range", self._text[start:])
        else:
            end, name = start + 2, self._text[start + 2 : start + 3]
        self._at = end + 1
        test = category(name.removeprefix("^"))
        if test is None:
            raise PatternError("invalid character class range", self._text[start : end + 1])
        return any_of(
            [folded(test) if flags.ignore_case else test],
            negate=(char == "P") is not name.startswith("^"),
        )

    def _char_escape(self) -> str:
        """A character written with a backslash."""
        start = self._at
        char = self._text[start + 1 : start + 2]
        if not char:
            raise PatternError("trailing backslash at end of expression", "")
        self._at += 2
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "x":
            return self._hexadecimal(start)
        if char in "01234567" and (char == "0" or self._peek() in tuple("01234567")):
            return self._octal(start)
        if char.isascii() and not char.isalnum():
            return char
        raise PatternError("invalid escape sequence", self._text[start : self._at])

    def _octal(self, start: int) -> str:
        end = start + 2
        while end < start + 4 and self._text[end : end + 1] in tuple("01234567"):
            end += 1
        self._at = end
        return chr(int(self._text[start + 1 : end], 8))

    def _hexadecimal(self, start: int) -> str:
        if self._peek() == "{":
            end = self._text.find("}", self._at)
            digits = self._text[self._at + 1 : max(end, 0)]
            self._at = end + 1 if end >= 0 else len(self._text)
        else:
            digits = self._text[self._at : self._at + 2]
            self._at += 2
            if len(digits) != 2:
                digits = ""
        if not digits or not _is_hexadecimal(digits) or int(digits, 16) > _MAX_CODE_POINT:
            raise PatternError("invalid escape sequence", self._text[start : self._at])
        return chr(int(digits, 16))

    # --- brackets -------------------------------------------------------------------------------------

    def _bracket(self, flags: _Flags) -> PatternNode:
        """`[...]`."""
        start = self._at
        self._at += 1
        negate = self._peek() == "^"
        self._at += negate
        tests: list[CharTest] = []
        first = True
        while self._peek() != "]" or first:
            if not self.rest:
                raise PatternError("missing closing ]", self._text[start:])
            tests.append(self._bracket_item(flags, start))
            first = False
        self._at += 1
        return Chars(any_of(tests, negate=negate))

    def _bracket_item(self, flags: _Flags, start: int) -> CharTest:
        if self.rest.startswith("[:"):
            named = self._posix(flags)
            if named is not None:
                return named
        if self._peek() == "\\":
            test = self._class_escape(flags)
            if test is not None:
                return test
        item = self._at
        low = self._bracket_char(start)
        high = low
        if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("", "]"):
            self._at += 1
            high = self._bracket_char(start)
            if high < low:
                raise PatternError("invalid character class range", self._text[item : self._at])

        def in_range(char: str) -> bool:
            return low <= char <= high

        return folded(in_range) if flags.ignore_case else in_range

    def _bracket_char(self, start: int) -> str:
        if not self.rest:
            raise PatternError("missing closing ]", self._text[start:])
        if self._peek() == "\\":
            return self._char_escape()
        self._at += 1
        return self._text[self._at - 1]

    def _posix(self, flags: _Flags) -> CharTest | None:
        """`[:alpha:]` or `[:^alpha:]`; None if it is no class but characters."""
        end = self._text.find(":]", self._at + 2)
        if end < 0:
            return None
        name = self._text[self._at + 2 : end]
        members = POSIX_CLASSES.get(name.removeprefix("^"))
        if members is None:
            raise PatternError("invalid character class range", self._text[self._at : end + 2])
        self._at = end + 2
        test: CharTest = members.__contains__
        return any_of([folded(test) if flags.ignore_case else test], negate=name.startswith("^"))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and (len(text) == 1 or text[0] != "0")


def _count(text: str) -> int:
    return int(text) if len(text) < 8 else 10**8


def _is_hexadecimal(text: str) -> bool:
    return all(char in "0123456789abcdefABCDEF" for char in text)


def _repeat_product(node: PatternNode) -> int:
    """How often the innermost part may be repeated, counting only braces."""
    match node:
        case Repeat():
            times = max(node.most if node.most >= 0 else node.least, 1)
            return times * _repeat_product(node.part)
        case Concatenation():
            return max(map(_repeat_product, node.parts), default=1)
        case Choice():
            return max(map(_repeat_product, node.options), default=1)
        case _:
            return 1
