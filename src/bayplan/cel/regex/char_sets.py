"""Sets of characters: classes, categories of Unicode, and letters that are the same but for their case."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

#: Whether a character belongs to a set.
CharTest = Callable[[str], bool]

_DIGITS = frozenset("0123456789")
_WORD = _DIGITS | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SPACE = frozenset("\t\n\f\r ")
PERL_CLASSES = {"d": _DIGITS, "s": _SPACE, "w": _WORD}
_LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
_UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
POSIX_CLASSES = {
    "alnum": _LOWER | _UPPER | _DIGITS,
    "alpha": _LOWER | _UPPER,
    "ascii": frozenset(map(chr, range(128))),
    "blank": frozenset("\t "),
    "cntrl": frozenset(map(chr, (*range(32), 127))),
    "digit": _DIGITS,
    "graph": _LOWER | _UPPER | _DIGITS | _PUNCTUATION,
    "lower": _LOWER,
    "print": _LOWER | _UPPER | _DIGITS | _PUNCTUATION | {" "},
    "punct": _PUNCTUATION,
    "space": _SPACE | {"\v"},
    "upper": _UPPER,
    "word": _WORD,
    "xdigit": frozenset("0123456789abcdefABCDEF"),
}
_CATEGORIES = frozenset(
    ("C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl", "No",
     "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs")
)  # fmt: skip
#: Scripts by what the names of their letters begin with, for those that patterns are written about.
_SCRIPTS = frozenset(
    ("Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Georgian", "Greek", "Gujarati", "Hangul",
     "Hebrew", "Hiragana", "Katakana", "Latin", "Tamil", "Thai", "Tibetan")
)  # fmt: skip


def category(name: str) -> CharTest | None:
    """The characters of a category or script of Unicode, or None if there is none of that name."""
    if name == "Any":
        return lambda char: True
    if name in _CATEGORIES:
        return lambda char: unicodedata.category(char).startswith(name)
    if name == "Han":
        return lambda char: unicodedata.name(char, "").startswith("CJK ")
    if name in _SCRIPTS:
        prefix = name.upper() + " "
        return lambda char: char.isalpha() and unicodedata.name(char, "").startswith(prefix)
    return None


@cache
def same_but_case(char: str) -> frozenset[str]:
    """A character and those that differ from it in case only."""
    found = {char}
    waiting = [char]
    while waiting:
        each = waiting.pop()
        for other in (each.lower(), each.upper(), each.title(), _SPECIAL.get(each, each)):
            if len(other) == 1 and other not in found and not _is_dotless(other):
                found.add(other)
                waiting.append(other)
    return frozenset(found)


#: Kelvin, the long s, Å and Ω have simple foldings that Python knows in one direction only.
_SPECIAL = {"k": "\u212a", "s": "\u017f", "\u00e5": "\u212b", "\u03c9": "\u2126", "\u00df": "\u1e9e"}


def _is_dotless(char: str) -> bool:
    """The Turkish i, which folds to nothing."""
    return char in "\u0130\u0131"


def any_of(tests: Iterable[CharTest], *, negate: bool) -> CharTest:
    """The union of sets, or what is in none of them."""
    parts = tuple(tests)
    return lambda char: any(test(char) for test in parts) is not negate


def folded(test: CharTest) -> CharTest:
    """The set with the other cases of its characters."""
    return lambda char: any(map(test, same_but_case(char)))
