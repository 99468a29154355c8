"""Detects whether a text is JSON or YAML, and parses it."""

from __future__ import annotations

from bayplan.config.jsontext import looks_like_json, parse_json
from bayplan.config.problems import Mark
from bayplan.config.yamltext import ParsedText, SyntaxProblem, parse_yaml

__all__ = ["ParsedText", "SyntaxProblem", "read_text"]

_BYTE_ORDER_MARK = "\ufeff"


def read_text(text: str) -> ParsedText:
    """Read JSON or YAML. Only a text that begins with `{` is JSON; all else is YAML."""
    try:
        if looks_like_json(text):
            return parse_json(text)
        return parse_yaml(text.removeprefix(_BYTE_ORDER_MARK))
    except RecursionError:
        raise SyntaxProblem(Mark(1, 1), "the text is nested too deeply") from None
