"""The contract check: a plugin class is checked once, when it is loaded.

In: a class. Out: the extension points it is on, or a PluginError that names the plugin, the method
and the mismatch. No instance is created here.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from types import NoneType
from typing import Any

from bayplan.config.args import Args
from bayplan.config.plugin_catalogue import PluginNotLoaded
from bayplan.framework.plugin import Plugin, args_parameter, defines
from bayplan.framework.points import METHODS, POINTS, MethodSpec, Point

#: Names from Go, or from habit, that are not close to the spelling of the method they mean.
_OTHER_SPELLINGS = {
    "score_extensions": "normalize_score",
    "normalize": "normalize_score",
    "pre_filter_extensions": "add_pod and remove_pod",
    "queue_sort": "less or sort_key",
    "sign_pod": "sign",
    "enqueue_extensions": "events_to_register",
    "un_reserve": "unreserve",
}
_CLOSE_ENOUGH = 0.84


class PluginError(PluginNotLoaded):
    """A plugin that cannot be used, with an explanation for its author."""


def check_class(cls: type[Any], where: str = "") -> tuple[str, ...]:
    """The extension points that *cls* is on, in Kubernetes' order; PluginError if it breaks the contract."""
    plugin = _identify(cls, where)
    _check_args(cls, plugin)
    _check_spelling(cls, plugin)
    for name, method in METHODS.items():
        if defines(cls, name):
            _check_method(getattr(cls, name), method, plugin)
    points = tuple(point.name for point in POINTS if _is_on(cls, point, plugin))
    if not points:
        raise PluginError(
            f"{plugin}: defines no extension point; define at least one method, for example "
            "filter(self, state, pod, node) or score(self, state, pod, node)"
        )
    return points


def _identify(cls: type[Any], where: str) -> str:
    """The plugin's name for messages; checks that it is a plugin and has a name."""
    shown = f"{where}: " if where else ""
    if not (isinstance(cls, type) and issubclass(cls, Plugin)):
        shape = f"class {cls.__name__}" if isinstance(cls, type) else f"{cls!r}"
        raise PluginError(f"{shown}{shape} is not a plugin; derive it from bayplan.Plugin")
    name = getattr(cls, "name", None)
    if name is None or name == "":
        raise PluginError(
            f'{shown}plugin class {cls.__name__} has no name; add  name = "{cls.__name__}"  to the class'
        )
    if not isinstance(name, str):
        raise PluginError(f"{shown}plugin class {cls.__name__}: name must be a string, not {name!r}")
    if name == "*" or ":" in name or name != name.strip():
        raise PluginError(
            f"{shown}plugin class {cls.__name__}: {name!r} cannot be a plugin's name; "
            'leave out "*", ":" and surrounding spaces'
        )
    return f"{shown}plugin {name}"


def _check_args(cls: type[Plugin], plugin: str) -> None:
    args = cls.Args
    if args is not None and not (isinstance(args, type) and issubclass(args, Args)):
        raise PluginError(f"{plugin}: Args must be a subclass of bayplan.Args, not {args!r}")
    declared = args_parameter(cls)
    if declared is not None and declared is not (NoneType if args is None else args):
        brackets = f"Plugin[{getattr(declared, '__name__', declared)}]"
        raise PluginError(f"{plugin}: derives from {brackets}, but its Args are {args!r}; leave out Args")


def _check_spelling(cls: type[Plugin], plugin: str) -> None:
    for name in dir(cls):
        if name.startswith("_") or name in METHODS or hasattr(Plugin, name):
            continue
        if not callable(inspect.getattr_static(cls, name)):
            continue
        if (meant := _nearest_method(name)) is not None:
            raise PluginError(
                f"{plugin}: method {name} is no extension point; did you mean {meant}? "
                f"(a helper of your own: call it _{name})"
            )


def _nearest_method(name: str) -> str | None:
    """The method that *name* looks like a misspelling of: preFilter, prefilter, filter_node, normalise_score."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    if snake in _OTHER_SPELLINGS:
        return _OTHER_SPELLINGS[snake]
    folded = {method.replace("_", ""): method for method in METHODS}
    if snake.replace("_", "") in folded:
        return folded[snake.replace("_", "")]
    close = difflib.get_close_matches(snake.replace("_", ""), folded, n=1, cutoff=_CLOSE_ENOUGH)
    return folded[close[0]] if close else None


def _check_method(function: Any, method: MethodSpec, plugin: str) -> None:
    if method.name == "events_to_register" and not callable(function):
        return
    if not callable(function):
        raise PluginError(f"{plugin}: {method.name} must be a method, not {function!r}")
    if method.is_async is not None and inspect.iscoroutinefunction(function) != method.is_async:
        wanted = "async def" if method.is_async else "plain def"
        phase = "binding" if method.is_async else "scheduling"
        raise PluginError(f"{plugin}: {method.name} must be {wanted}: it is part of the {phase} cycle")
    _check_parameters(function, method, plugin)


def _check_parameters(function: Callable[..., Any], method: MethodSpec, plugin: str) -> None:
    counts = range(method.required, len(method.parameters) + 1)
    if not any(_accepts(function, count + 1) for count in counts):
        wanted = ", ".join(("self", *method.parameters))
        got = ", ".join(inspect.signature(function).parameters)
        raise PluginError(f"{plugin}: {method.name} takes ({got}), but is called with ({wanted})")


def _accepts(function: Callable[..., Any], n_positional: int) -> bool:
    try:
        inspect.signature(function).bind(*range(n_positional))
    except TypeError:
        return False
    return True


def n_arguments(function: Callable[..., Any], method: MethodSpec) -> int:
    """How many of the method's parameters a bound *function* takes."""
    for count in range(len(method.parameters), method.required - 1, -1):
        if _accepts(function, count):
            return count
    raise TypeError(f"{function!r} cannot be called as {method.name}")  # check_class has checked it


def _is_on(cls: type[Plugin], point: Point, plugin: str) -> bool:
    entries = [method.name for method in point.entries if defines(cls, method.name)]
    companions = [method.name for method in point.companions if defines(cls, method.name)]
    if len(entries) > 1:
        raise PluginError(
            f"{plugin}: defines both {' and '.join(entries)}; these are two forms of {point.title}, keep one"
        )
    if companions and not entries:
        names = " or ".join(method.name for method in point.entries)
        raise PluginError(f"{plugin}: defines {companions[0]} without {names}, so it would never be called")
    if point.name == "preFilter" and len(companions) == 1:
        raise PluginError(f"{plugin}: defines {companions[0]} alone; define add_pod and remove_pod, or neither")
    return bool(entries)
