"""Bayplan: a Kubernetes scheduler and scheduling framework in Python.

What a plugin author imports is here::

    from bayplan import Plugin, Status

Names are loaded when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bayplan.version import __version__

if TYPE_CHECKING:
    from bayplan.framework import (
        Action,
        Args,
        ClusterEvent,
        Code,
        CycleState,
        Handle,
        Hint,
        NodeInfo,
        NodeTable,
        Plugin,
        PodQuery,
        PostFilterResult,
        PreBindPreFlight,
        PreFilterResult,
        Reads,
        Resource,
        Status,
        Verdict,
    )
    from bayplan.model import Node, Pod

__all__ = [
    "Action",
    "Args",
    "ClusterEvent",
    "Code",
    "CycleState",
    "Handle",
    "Hint",
    "Node",
    "NodeInfo",
    "NodeTable",
    "Plugin",
    "Pod",
    "PodQuery",
    "PostFilterResult",
    "PreBindPreFlight",
    "PreFilterResult",
    "Reads",
    "Resource",
    "Status",
    "Verdict",
    "__version__",
]

_FROM_MODEL = frozenset({"Node", "Pod"})


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bayplan' has no attribute {name!r}")
    module = importlib.import_module("bayplan.model" if name in _FROM_MODEL else "bayplan.framework")
    return getattr(module, name)


def __dir__() -> list[str]:
    return __all__
