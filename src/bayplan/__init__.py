"""Bayplan: a Kubernetes scheduler and scheduling framework in Python.

What a plugin author imports is here, and the cluster in one process::

    from bayplan import Cluster, Plugin, Status

Names are loaded when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bayplan.version import __version__

if TYPE_CHECKING:
    from bayplan.apiserver.cluster import Cluster
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
    "Cluster",
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

#: Where the names are that the framework does not have.
_ELSEWHERE = {"Cluster": "bayplan.apiserver.cluster", "Node": "bayplan.model", "Pod": "bayplan.model"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bayplan' has no attribute {name!r}")
    return getattr(importlib.import_module(_ELSEWHERE.get(name, "bayplan.framework")), name)


def __dir__() -> list[str]:
    return __all__
