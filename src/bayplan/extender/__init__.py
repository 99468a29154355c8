"""HTTP extenders, both ways: calling them (`client`), and serving one (`app`, `server`).

`wire` has the messages, in Go's spelling. An extender of your own only needs `ExtenderApp` and the messages.
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
