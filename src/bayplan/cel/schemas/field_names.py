"""Names of fields as identifiers of CEL: what an identifier cannot have is written out."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_RESERVED: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED: Final = re.compile(r"__|[-./]")
_WRITABLE: Final = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*", re.ASCII)


@lru_cache(maxsize=4096)
def escaped(name: str) -> str | None:
    """The identifier; None if there is none for the name, so that no expression can mention the field."""
    if not _WRITABLE.fullmatch(name):
        return None
    if name in _RESERVED:
        return f"__{name}__"
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)
