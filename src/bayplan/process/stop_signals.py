"""SIGTERM and SIGINT: the first asks for a stop, a second one ends the process at once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Final

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Calls *stop* at the first signal, in the main thread and in the middle of whatever it does.

    Python calls such a handler between two instructions. A handler of the event loop would have to wait until a
    plugin returns.
    """

    def __init__(self, stop: Callable[[], object], *, exit: Callable[[int], Any] = os._exit) -> None:
        self._stop = stop
        self._exit = exit
        self._n_received = 0
        self._old: dict[int, Any] = {}

    def __enter__(self) -> StopSignals:
        for number in _SIGNALS:
            self._old[number] = signal.signal(number, self._received)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)

    def _received(self, number: int, frame: FrameType | None) -> None:
        self._n_received += 1
        if self._n_received > 1:
            self._exit(128 + number)
        self._stop()
