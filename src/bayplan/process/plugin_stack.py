"""Which plugin a thread is in, read from the thread's stack: noting each call would cost every decision."""

from __future__ import annotations

import traceback
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

from bayplan.framework import Plugin
from bayplan.framework.points import METHODS, POINTS
from bayplan.model import Pod
from bayplan.queue import QueuedPodInfo

_POINT_OF_METHOD: Final = {
    method.name: point.title for point in POINTS for method in (*point.entries, *point.companions)
}
#: How much of a stack is shown if it is not known where the plugin begins.
_MOST_FRAMES: Final = 12
#: Modules of Bayplan itself; the plugins that it ships are among them.
_OWN: Final = "bayplan."


class PluginCall(NamedTuple):
    """A call of a plugin's method that has not returned."""

    plugin: Plugin
    #: The extension point, or the name of a method that belongs to none.
    point: str
    #: `namespace/name`; empty if the method was not given a pod.
    pod: str

    def __str__(self) -> str:
        return f"plugin={self.plugin.name} point={self.point} pod={self.pod}"

    def is_same(self, other: PluginCall | None) -> bool:
        return other is not None and self.plugin is other.plugin and self[1:] == other[1:]


def find_call(frame: FrameType | None, *, shipped: bool = True) -> PluginCall | None:
    """The innermost call of a plugin's method in the stack that ends with *frame*; None if there is none.

    Without *shipped*, of a plugin that Bayplan does not ship.
    """
    found: PluginCall | None = None
    while frame is not None:
        plugin = _first_argument(frame)
        if not isinstance(plugin, Plugin) or (not shipped and type(plugin).__module__.startswith(_OWN)):
            pass
        elif found is None or found.plugin is plugin:
            name = _method_name(plugin, frame.f_code)
            if name is not None:
                return PluginCall(plugin, _POINT_OF_METHOD.get(name, name), _pod_of(frame))
            # A helper of the plugin's own, unless it was called by one of the contract's methods.
            found = found or PluginCall(plugin, frame.f_code.co_name, _pod_of(frame))
        frame = frame.f_back
    return found


def is_in_plugin(frame: FrameType | None) -> bool:
    """Whether what runs in *frame* is a plugin's own code, or a library that the plugin has called.

    False in Bayplan's code, also where a plugin has called that: it may be in the middle of a change.
    """
    while frame is not None:
        if isinstance(_first_argument(frame), Plugin) and not _is_own(frame):
            return True
        if _is_own(frame):
            return False
        frame = frame.f_back
    return False


def describe_stack(frame: FrameType | None) -> str:
    """The stack from the plugin on; the end of it if no plugin is in it."""
    frames = [each for each, _ in traceback.walk_stack(frame)] if frame is not None else []
    in_plugin = [depth for depth, each in enumerate(frames) if isinstance(_first_argument(each), Plugin)]
    n_shown = in_plugin[-1] + 1 if in_plugin else _MOST_FRAMES
    return "".join(traceback.format_stack(frame, n_shown))


def _is_own(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_OWN)


def _first_argument(frame: FrameType) -> Any:
    code = frame.f_code
    return frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None


def _method_name(plugin: Plugin, code: CodeType) -> str | None:
    """The contract's name of the method that *code* is the code of."""
    for name in METHODS:
        if getattr(getattr(type(plugin), name, None), "__code__", None) is code:
            return name
    return None


def _pod_of(frame: FrameType) -> str:
    code = frame.f_code
    for name in code.co_varnames[1 : code.co_argcount]:
        value = frame.f_locals.get(name)
        if isinstance(value, Pod | QueuedPodInfo):
            return value.key
    return ""
