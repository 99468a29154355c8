"""Edits the text of a kubeconfig: entries come and go as lines; comments, order and all other lines stay.

Every edit is verified by reading the result. Where the text is not laid out in blocks (JSON, for example), the
file is written anew with the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

Json = dict[str, Any]

#: A kubeconfig without entries.
EMPTY: Final = 'apiVersion: v1\nkind: Config\nclusters: []\nusers: []\ncontexts: []\ncurrent-context: ""\n'


def with_entry(text: str, section: str, entry: Mapping[str, Any]) -> str:
    """*text* with *entry* as the first one of *section* (`clusters`, `users` or `contexts`)."""
    content = _content(text)
    content[section] = [dict(entry), *(content.get(section) or [])]
    return _verified(_insert(text, section, entry), content)


def without_entry(text: str, section: str, position: int) -> str:
    """*text* without the entry at *position* of *section*."""
    content = _content(text)
    content[section] = [each for i, each in enumerate(content[section]) if i != position]
    return _verified(_delete(text, section, position), content)


def without_current_context(text: str) -> str:
    """*text* with an empty `current-context`."""
    content = _content(text) | {"current-context": ""}
    _, value = _find(text, "current-context")
    lines = text.splitlines(keepends=True)
    line, start, end = value.start_mark.line, value.start_mark.column, value.end_mark.column
    lines[line] = f'{lines[line][:start]}""{lines[line][end:]}'
    return _verified("".join(lines), content)


def _content(text: str) -> Json:
    content: Json = yaml.load(text, Loader=yaml.CSafeLoader)
    return content


def _verified(edited: str, content: Json) -> str:
    try:
        is_right = _content(edited) == content
    except yaml.YAMLError:
        is_right = False
    return edited if is_right else yaml.safe_dump(content, sort_keys=False)


def _find(text: str, key: str) -> tuple[Any, Any]:
    """The nodes of a key and its value in the outermost mapping; None twice if it is not there."""
    root = yaml.compose(text, Loader=yaml.CSafeLoader)
    return next(((name, value) for name, value in root.value if name.value == key), (None, None))


def _insert(text: str, section: str, entry: Mapping[str, Any]) -> str:
    name, value = _find(text, section)
    lines = text.splitlines(keepends=True)
    if name is None:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        return "".join([*lines, f"{section}:\n", _block(entry, 0)])
    line, is_empty = name.end_mark.line, not value.value
    if is_empty:
        start, end = value.start_mark.column, value.end_mark.column
        lines[line] = f"{lines[line][:start].rstrip()}{lines[line][end:]}"
    # Right below the key, so that a comment stays above the entry that it is about.
    lines.insert(line + 1, _block(entry, 0 if is_empty else value.start_mark.column))
    return "".join(lines)


def _block(entry: Mapping[str, Any], column: int) -> str:
    text = yaml.safe_dump([dict(entry)], sort_keys=False)
    return "".join(" " * column + line for line in text.splitlines(keepends=True))


def _delete(text: str, section: str, position: int) -> str:
    name, value = _find(text, section)
    lines = text.splitlines(keepends=True)
    entry = value.value[position]
    first = entry.start_mark.line
    # The dash may be on a line of its own.
    while first > 0 and "-" not in lines[first][: entry.start_mark.column]:
        first -= 1
    del lines[first : _last_line(entry) + 1]
    if len(value.value) == 1:
        line, column = name.end_mark.line, name.end_mark.column
        lines[line] = f"{lines[line][:column]}: []{lines[line][column + 1 :]}"
    return "".join(lines)


def _last_line(node: Any) -> int:
    """The line on which a node ends. The mark of a block is where the next one begins, after any comments."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.line - (node.end_mark.column == 0))
    last = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)
