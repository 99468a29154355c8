"""Text to tokens. A text that is no token is reported and skipped, as ANTLR's lexer does."""

from __future__ import annotations

import re
from typing import NamedTuple

from bayplan.cel.cel_errors import Issue

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_STRING = (
    rf'"""(?:{_ESCAPE}|[^\\])*?"""'
    rf"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"'
    rf"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_RAW_STRING = r'[rR](?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\')'
_TOKEN = re.compile(
    rf"""(?P<SPACE>[\t \r\n\f]+|//[^\n]*)
    |(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<BYTES>[bB](?:{_RAW_STRING}|{_STRING}))
    |(?P<STRING>{_RAW_STRING}|{_STRING})
    |(?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/\ ]+`)
    |(?P<SYMBOL>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])""",
    re.VERBOSE,
)
#: The start of a token that went wrong, up to where it did.
_BROKEN = re.compile(
    rf"""[bB]?(?:[rR](?:"[^"\n\r]*|'[^'\n\r]*)|"(?:{_ESCAPE}|[^\\"\n\r])*|'(?:{_ESCAPE}|[^\\'\n\r])*)
    |`[A-Za-z0-9_.\-/\ ]*|[&|=]|""",
    re.VERBOSE,
)
_BROKEN_ESCAPE = re.compile(r"\\(?:[0-3][0-7]?|[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?")
_KEYWORDS = frozenset(("in", "true", "false", "null"))
END = "<EOF>"


class Token(NamedTuple):
    """A word of the source. Symbols and keywords are their own kind."""

    kind: str
    text: str
    offset: int

    @property
    def display(self) -> str:
        """In quotes, as error messages name it."""
        return "'" + self.text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + "'"


def tokenize(source: str) -> tuple[list[Token], list[Issue]]:
    """All tokens, the last of which is the end, and what was no token."""
    tokens: list[Token] = []
    issues: list[Issue] = []
    offset = 0
    while offset < len(source):
        found = _TOKEN.match(source, offset)
        if found is None:
            offset = _skip(source, offset, issues)
            continue
        if found.lastgroup != "SPACE":
            tokens.append(Token(_kind(found), found[0], offset))
        offset = found.end()
    tokens.append(Token(END, END, len(source)))
    return tokens, issues


def _kind(found: re.Match[str]) -> str:
    if found.lastgroup == "SYMBOL" or found[0] in _KEYWORDS:
        return found[0]
    return str(found.lastgroup)


def _skip(source: str, start: int, issues: list[Issue]) -> int:
    """Report a text that is no token, with the character that broke it; returns where to go on."""
    broken = _BROKEN.match(source, start)
    end = broken.end() if broken else start
    if end > start and source[end : end + 1] == "\\":
        escape = _BROKEN_ESCAPE.match(source, end)
        end = escape.end() if escape else end
    stop = min(end + 1, len(source))
    issues.append(Issue(start, f"Syntax error: token recognition error at: '{source[start:stop]}'"))
    return stop
