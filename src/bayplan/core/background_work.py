"""BackgroundWork: what a plugin runs beside the scheduling, as the core sees it. A driver runs it.

The core only holds what was spawned and says when it is to end: it has no event loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from bayplan.framework import Plugin


class BackgroundWork:
    """A coroutine of a plugin, or a function that makes one. Implements `framework.BackgroundTask`."""

    def __init__(
        self,
        plugin_name: str,
        work: Coroutine[Any, Any, object] | Callable[[], Coroutine[Any, Any, object]],
        name: str = "",
    ) -> None:
        self.plugin_name: Final = plugin_name
        self._work = work
        #: For log lines.
        self.name: Final = name or getattr(work, "__name__", "") or type(work).__name__
        #: Whether it is started again after it has failed.
        self.is_restarted: Final = not inspect.iscoroutine(work)
        self.is_done = False
        self._on_cancel: Callable[[], object] | None = None
        if self.is_restarted and not inspect.iscoroutinefunction(work):
            raise TypeError(
                f"handle.spawn needs a coroutine, such as self._poll(), or an async function, such as self._poll; "
                f"got {work!r:.80}"
            )

    def coroutine(self) -> Coroutine[Any, Any, object]:
        """To be awaited; of a coroutine that was spawned, only once."""
        return self._work if inspect.iscoroutine(self._work) else self._work()  # type: ignore[operator]

    def started(self, cancel: Callable[[], object]) -> None:
        """A driver runs it; *cancel* is how it is ended."""
        self._on_cancel = cancel

    def cancel(self) -> None:
        """End it; nothing happens if it has ended."""
        if self._on_cancel is None:
            self.discard()
        elif not self.is_done:
            self._on_cancel()

    def discard(self) -> None:
        """It is never run."""
        self.is_done = True
        if inspect.iscoroutine(self._work):
            self._work.close()


class BackgroundRunner(Protocol):
    """The part of a driver that runs background work and closes plugins."""

    def start(self, work: BackgroundWork) -> None: ...

    def close_plugin(self, plugin: Plugin, is_in_use: Callable[[], bool]) -> None:
        """Call the plugin's `close`, as soon as *is_in_use* says no."""


class NoBackground:
    """For a core that only decides: nothing runs beside it."""

    def start(self, work: BackgroundWork) -> None:
        work.discard()

    def close_plugin(self, plugin: Plugin, is_in_use: Callable[[], bool]) -> None:
        return None
