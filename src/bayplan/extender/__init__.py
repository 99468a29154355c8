"""Extenders, both ways round: we ask them (`client`), or we are one (`app`, `server`).

`wire` is what goes over the wire, in Go's spelling. For an extender of your own, `ExtenderApp` and the messages
are all there is to import.
"""

from bayplan.extender.app import ExtenderApp
from bayplan.extender.breaker import BreakerSettings
from bayplan.extender.client import ExtenderObserver, HttpExtender, make_extenders
from bayplan.extender.wire import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterResult,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictims,
    NodeList,
    Victims,
)

__all__ = [
    "BreakerSettings",
    "ExtenderApp",
    "ExtenderArgs",
    "ExtenderBindingArgs",
    "ExtenderBindingResult",
    "ExtenderFilterResult",
    "ExtenderObserver",
    "ExtenderPreemptionArgs",
    "ExtenderPreemptionResult",
    "HostPriority",
    "HttpExtender",
    "MetaPod",
    "MetaVictims",
    "NodeList",
    "Victims",
    "make_extenders",
]
