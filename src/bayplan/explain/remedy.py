"""Remedy: one thing that could be changed to remove one obstacle. Nothing is verified here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from bayplan.model import KubeObject, Node, Pod

#: Edits an object as the API shows it, in place.
Edit: TypeAlias = Callable[[dict[str, Any]], None]

POD: Final = "pod"
NODE: Final = "node"
OTHERS: Final = "others"
CAPACITY: Final = "capacity"


class Remedy(NamedTuple):
    """A change, and how much it asks."""

    summary: str
    #: Lower is less: what one person can do in a moment, and undo, costs little; what others lose costs much.
    cost: float
    #: pod, node, others or capacity.
    asks: str
    edit_pod: Edit | None = None
    edit_node: Edit | None = None
    #: Pods to delete.
    deletes: tuple[Pod, ...] = ()
    #: Other objects, before and after; None before is a creation.
    replaces: tuple[tuple[KubeObject | None, KubeObject], ...] = ()
    #: What distinguishes it from other remedies; the name of a node is left out, so that the same change of many
    #: nodes is one remedy.
    key: str = ""
    notes: tuple[str, ...] = ()


class Site(NamedTuple):
    """A node on which obstacles are to be removed."""

    node: Node
    #: Resource → what is free there, in the scheduler's units.
    free: dict[str, int]
    #: The pods on it.
    pods: tuple[Pod, ...]


class NotPossibleError(Exception):
    """An edit that the object does not allow."""


def joined(texts: Sequence[str]) -> str:
    return ", ".join(texts[:-1]) + f" and {texts[-1]}" if len(texts) > 1 else "".join(texts)
