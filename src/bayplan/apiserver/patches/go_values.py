"""Values as Go's fmt prints them: messages of kube-apiserver quote them so."""

from __future__ import annotations

from typing import Any, Final

_TYPES: Final = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    int: "int64",
    float: "float64",
    bool: "bool",
    type(None): "%!s(<nil>)",
}


def go_value(value: Any) -> str:
    """`%v`: maps by key, nothing quoted."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return str(value).lower()
        case dict():
            return f"map[{' '.join(f'{key}:{go_value(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_value, value))}]"
        case float():
            return f"{value:g}" if value == int(value) else repr(value)
    return str(value)


def go_type(value: Any) -> str:
    """`%T` of a decoded JSON value."""
    return _TYPES[type(value)]
