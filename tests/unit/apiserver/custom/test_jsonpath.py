"""The JSON paths of printer columns."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.apiserver.custom.jsonpath import as_text, find

_OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"example.com/a": "b"}, "annotations": {"x.y": "z"}},
    "spec": {"list": [1, 2, 3], "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}]},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.list[0]", [1]),
        (".spec.list[-1]", [3]),
        (".spec.list[7]", []),
        (".spec.ports[*].port", [1, 2]),
        (".spec.missing.deeper", []),
        (r".metadata.annotations.x\.y", ["z"]),
        (".metadata.labels['example.com/a']", ["b"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Synced')].status", ["False"]),
        ('.status.conditions[?(@.type == "Gone")].status', []),
        (".spec.ports[?(@.port==2)].name", ["b"]),
    ],
)
def test_paths_find_values(path: str, found: list[Any]) -> None:
    """A missing value on the way is not an error."""
    assert find(path, _OBJECT) == found


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (1, "1"), (True, "true"), ({"a": [1]}, '{"a":[1]}')])
def test_values_as_text(value: Any, text: str) -> None:
    """Strings unchanged, everything else as JSON."""
    assert as_text(value) == text
