"""Renaming: other names for everything in a cluster, the same one wherever a name is used.

New names are numbered in the order of the old ones, so whatever is sorted by name stays in its order.
"""

from __future__ import annotations

from typing import Final

#: Names that the API server or the scheduler gives a meaning.
_KEPT: Final = {
    "namespace": frozenset({"default", "kube-system", "kube-public", "kube-node-lease"}),
    "priorityclass": frozenset({"system-cluster-critical", "system-node-critical"}),
    "value": frozenset({""}),
    "ip": frozenset({"0.0.0.0", "127.0.0.1", "::", "::1"}),  # noqa: S104  nothing listens here
}
#: Category → how a name of it looks, if not `category-number`.
_FORMS: Final = {
    "uid": "00000000-0000-4000-8000-{:0>12}",
    "ip": "10.0.0.{}",
    "image": "image-{}:v1",
    "resource": "example.com/resource-{}",
    "disk": "vol-{}",
}


class Renaming:
    """Names are collected first, then `number` gives every one its new name."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {}
        self._new: dict[tuple[str, str], str] = {}
        self._is_numbered = False

    def __call__(self, category: str, name: str) -> str:
        """The new name; while names are collected, the old one."""
        if not name or name in _KEPT.get(category, ()):
            return name
        if self._is_numbered:
            return self._new[category, name]
        self._seen.setdefault(category, set()).add(name)
        return name

    def set(self, category: str, name: str, new: str) -> None:
        """Name something that is called after something else."""
        self._new[category, name] = new

    def number(self) -> None:
        for category, names in self._seen.items():
            form = _FORMS.get(category, category + "-{}")
            width = len(str(len(names)))
            for position, name in enumerate(sorted(names), start=1):
                self._new[category, name] = form.format(f"{position:0{width}}" if category != "ip" else position)
        self._is_numbered = True

    def names(self, category: str) -> dict[str, str]:
        """Old name → new name."""
        return {name: self._new[category, name] for name in self._seen.get(category, ())}
