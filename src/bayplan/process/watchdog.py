"""The watchdog: a thread that notices when a plugin holds up the thread of the scheduler, and says which.

Decisions are made by one thread, and a plugin that sleeps or loops stops all of them. The watchdog asks the
scheduler's event loop for a sign of life. Without one it logs the plugin, the extension point, the pod and the
stack, counts the stall, and tells others: readiness turns false, a leader steps down, and a process that was asked
to stop is ended. With a limit per call it interrupts the plugin.

It needs the interpreter to run Python code: while C code holds Python's lock, nothing here can happen.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from bayplan.framework.plugin_timeout import PluginTimeoutError
from bayplan.process.plugin_stack import PluginCall, describe_stack, find_call, is_in_plugin

logger = logging.getLogger("bayplan.process")

#: How often the watchdog looks.
POLL_SECONDS: Final = 0.25
#: A stall of this length is logged; again after twice the time, and so on, but at least once a minute.
FIRST_LOG_SECONDS: Final = 1.0
MOST_BETWEEN_LOGS_SECONDS: Final = 60.0
#: After so long the scheduler is not ready.
NOT_READY_SECONDS: Final = 10.0
#: After so long a leader leaves the work to another replica.
STEP_DOWN_SECONDS: Final = 30.0
#: A stop waits no longer than this for a plugin.
STOP_SECONDS: Final = 3.0
EXIT_STALLED: Final = 1
#: Interrupts a plugin. A process that does not handle it ignores it; Go interrupts goroutines with the same one.
_INTERRUPT: Final = signal.SIGURG


@dataclass(frozen=True, slots=True)
class StallActions:
    """What to do about a stall; called in the watchdog's thread."""

    #: A stall has begun: the plugin and the extension point, empty if they are not known.
    count: Callable[[str, str], None] = lambda plugin, point: None
    #: It has lasted for STEP_DOWN_SECONDS; with the reason.
    step_down: Callable[[str], None] = lambda reason: None
    #: The process is about to be ended.
    before_exit: Callable[[], None] = lambda: None
    exit: Callable[[int], Any] = os._exit


class Watchdog:
    """Watches the thread that creates it and the event loop that runs in it; see the module's docstring."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        actions: StallActions | None = None,
        *,
        plugin_timeout: float | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """*plugin_timeout*: seconds after which a call of a plugin that is not Bayplan's own is interrupted."""
        self._loop = loop
        self._actions = actions if actions is not None else StallActions()
        self._timeout = plugin_timeout
        self._monotonic = monotonic
        self._thread_id = threading.get_ident()
        self._poll = POLL_SECONDS if plugin_timeout is None else min(POLL_SECONDS, plugin_timeout / 4)
        #: When the loop was asked for a sign of life that it has not given yet.
        self._asked_at: float | None = None
        self._next_log = FIRST_LOG_SECONDS
        self._has_stepped_down = False
        #: When a stop was asked for, and the stall at that time.
        self._stop_asked_at: float | None = None
        #: The call that was running when the watchdog last looked, and since when.
        self._call: PluginCall | None = None
        self._call_since = 0.0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._old_handler: Any = None

    # --- from start to end ------------------------------------------------------------------------

    def start(self) -> None:
        if self._timeout is not None:
            self._old_handler = signal.signal(_INTERRUPT, self._interrupt)
        self._thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            if self._timeout is not None:
                signal.signal(_INTERRUPT, self._old_handler)

    def _run(self) -> None:
        while not self._ended.wait(self._poll):
            self.look()

    # --- for others -------------------------------------------------------------------------------

    @property
    def stalled_seconds(self) -> float:
        """For how long the loop has given no sign of life."""
        asked_at = self._asked_at
        return 0.0 if asked_at is None else self._monotonic() - asked_at

    def why_not_ready(self) -> str | None:
        """For a health check: what holds up the scheduler, if anything has for too long."""
        seconds = self.stalled_seconds
        return f"no decision for {seconds:.0f}s: {self._culprit()}" if seconds >= NOT_READY_SECONDS else None

    def stop_asked(self) -> None:
        """The process is to end: by force, if the scheduler does not come back."""
        if self._stop_asked_at is None:
            self._stop_asked_at = self._monotonic()

    # --- looking ----------------------------------------------------------------------------------

    def look(self) -> None:
        """Look once; the thread calls it all the time."""
        if self._asked_at is None:
            self._call = None
            self._asked_at = self._monotonic()
            self._loop.call_soon_threadsafe(self._answer)
            return
        seconds = self.stalled_seconds
        self._limit_call()
        if seconds >= self._next_log:
            self._report(seconds)
        if seconds >= STEP_DOWN_SECONDS and not self._has_stepped_down:
            self._has_stepped_down = True
            self._actions.step_down(f"no decision for {seconds:.0f}s: {self._culprit()}")
        if self._stop_asked_at is not None and min(seconds, self._since_stop()) >= STOP_SECONDS:
            self._exit()

    def _answer(self) -> None:
        """The sign of life; in the thread of the loop."""
        seconds = self.stalled_seconds
        self._asked_at = None
        if self._next_log > FIRST_LOG_SECONDS:
            logger.warning("The scheduler goes on: seconds=%.1f", seconds)
        self._next_log = FIRST_LOG_SECONDS
        self._has_stepped_down = False

    def _since_stop(self) -> float:
        return 0.0 if self._stop_asked_at is None else self._monotonic() - self._stop_asked_at

    def _report(self, seconds: float) -> None:
        frame = self._frame()
        call = find_call(frame)
        if self._next_log == FIRST_LOG_SECONDS:
            self._actions.count(call.plugin.name if call else "", call.point if call else "")
        self._next_log = seconds + min(seconds, MOST_BETWEEN_LOGS_SECONDS)
        what = f"Plugin has not returned: {call}" if call else "Something holds up the scheduler:"
        logger.error("%s seconds=%.1f; no pod is scheduled meanwhile\n%s", what, seconds, describe_stack(frame))

    def _culprit(self) -> str:
        call = find_call(self._frame())
        return f"{call} has not returned" if call else "something holds up the scheduler"

    def _frame(self) -> FrameType | None:
        return sys._current_frames().get(self._thread_id)

    def _exit(self) -> None:
        logger.error("Ending the process, which does not stop by itself: %s", self._culprit())
        self._actions.before_exit()
        self._actions.exit(EXIT_STALLED)

    # --- the limit of a call ----------------------------------------------------------------------

    def _limit_call(self) -> None:
        """Calls for the nodes of one pod count together: the same plugin, extension point and pod."""
        if self._timeout is None:
            return
        call, now = find_call(self._frame(), shipped=False), self._monotonic()
        if call is None or not call.is_same(self._call):
            self._call, self._call_since = call, now
        elif now - self._call_since >= self._timeout:
            # A signal interrupts calls of the system too, such as sleep and recv.
            signal.pthread_kill(self._thread_id, _INTERRUPT)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """In the watched thread, in the middle of whatever it does. Its stack does not change meanwhile: the
        exception is raised in the plugin, and in nothing else. Otherwise the next look tries again."""
        call = find_call(frame, shipped=False)
        if call is not None and call.is_same(self._call) and is_in_plugin(frame):
            self._call = None
            raise PluginTimeoutError(f"the plugin took longer than {self._timeout:g}s (--plugin-timeout)")
