"""Logs as Kubernetes components write them: klog's text, or JSON.

    log = get_logger("bayplan.core")
    log.info("Attempting to schedule pod", v=3, pod=pod)
    log.error(error, "Error scheduling pod; retrying", pod=pod)
    if log.verbosity >= 5:  # no call on a hot path while the line is disabled
        log.info("Pod moved to an internal scheduling queue", v=5, pod=pod)

Loggers are those of `logging`, with a message and key-value pairs; plain `logging` calls are written in the same
form. klog's verbosity is a level of `logging`: V(0) is INFO, V(1) one below, and so on.
"""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from time import time
from typing import Any, Final, NamedTuple, TextIO

from bayplan.observe.klog_format import DirectWriter, format_message, header, json_value, to_json
from bayplan.observe.klog_format import Ref as Ref
from bayplan.version import IS_COMPILED

MAX_VERBOSITY: Final = 19  # the level of V(20) would be 0, which `logging` takes for "not set"
_PAIRS: Final = "bayplan_pairs"


def level_of(verbosity: int) -> int:
    """The level of `logging` for V(*verbosity*)."""
    return logging.INFO - min(max(verbosity, 0), MAX_VERBOSITY)


class Logger:
    """A logger for messages with key-value pairs."""

    __slots__ = ("_file", "_logger", "verbosity")

    def __init__(self, name: str, file: str = "") -> None:
        """*file* is shown instead of the caller's file and line."""
        self._logger = logging.getLogger(name)
        self._file = file
        #: The highest V that is enabled, negative if none is.
        self.verbosity = 0
        self._set_verbosity()
        # `logging` clears the cache of every logger whenever any level changes, and has no other notification.
        cache = vars(self._logger).get("_cache")
        if not isinstance(cache, _LevelCache):
            cache = vars(self._logger)["_cache"] = _LevelCache()
        cache.on_clear.append(self._set_verbosity)

    def _set_verbosity(self) -> None:
        level = max(self._logger.getEffectiveLevel(), self._logger.manager.disable + 1)
        self.verbosity = logging.INFO - level

    def enabled(self, v: int) -> bool:
        return v <= self.verbosity and not self._logger.disabled

    def info(self, message: str, /, *, v: int = 0, depth: int = 0, **pairs: Any) -> None:
        """*depth* is how many callers up the logged file and line are."""
        logger = self._logger
        if v > self.verbosity or logger.disabled:
            return
        level = logging.INFO - v
        frame, created = sys._getframe(1 + depth), time()
        path, line = (self._file, 0) if self._file else (frame.f_code.co_filename, frame.f_lineno)
        if _writer is None or not _writer.write(logger, level, created, path, line, message, pairs):
            function = frame.f_code.co_name
            logger.handle(_Record(logger.name, level, path, line, function, created, message, pairs))

    def error(self, error: object, message: str, /, *, trace: BaseException | None = None, **pairs: Any) -> None:
        """*error* is the cause, or None; *trace* adds a traceback."""
        if error is not None:
            pairs = {"err": error, **pairs}
        self._logger.error(message, extra={_PAIRS: pairs}, exc_info=trace, stacklevel=2)


class _LevelCache(dict[int, bool]):
    """The level cache of a `logging.Logger`, which tells when it is cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.on_clear: list[Callable[[], None]] = []

    def clear(self) -> None:
        super().clear()
        for changed in self.on_clear:
            changed()


@functools.cache
def get_logger(name: str, file: str = "") -> Logger:
    """The logger of that name; always the same one.

    *file* is for a module that is compiled: machine code has no frames, so its lines would name the nearest
    interpreted caller, and `--vmodule` would not find them.
    """
    return Logger(name, file if IS_COMPILED else "")


class _Record(logging.LogRecord):
    """Created in half the time, because there is one for every pod: without threads and processes."""

    relativeCreated = msecs = 0.0
    args = exc_info = exc_text = stack_info = None
    thread = threadName = process = processName = taskName = None

    def __init__(
        self,
        name: str,
        level: int,
        path: str,
        line: int,
        function: str,
        created: float,
        message: str,
        pairs: Mapping[str, Any],
    ) -> None:
        self.name, self.levelno, self.msg = name, level, message
        self.levelname = logging.getLevelName(level)
        self.created = created
        self.msecs = self.created % 1 * 1000
        self.pathname, self.lineno, self.funcName = path, line, function
        self.filename = self.pathname.rpartition("/")[2]
        self.module = self.filename.removesuffix(".py")
        setattr(self, _PAIRS, pairs)


# --- text -----------------------------------------------------------------------------------------


class TextFormatter(logging.Formatter):
    """`I1116 00:13:22.668123   12345 schedule_one.py:80] "Attempting to schedule pod" pod="default/web"`"""

    def format(self, record: logging.LogRecord) -> str:
        start = header(_letter(record), record.created, record.filename, record.lineno)
        pairs: Mapping[str, Any] | None = getattr(record, _PAIRS, None)
        text = start + (record.getMessage() if pairs is None else format_message(record.msg, pairs))
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        return text


def _letter(record: logging.LogRecord) -> str:
    if record.levelno >= logging.CRITICAL:
        return "F"
    if record.levelno >= logging.ERROR:
        return "E"
    return "W" if record.levelno >= logging.WARNING else "I"


# --- JSON -----------------------------------------------------------------------------------------


class JsonFormatter(logging.Formatter):
    """One object a line, with the fields of component-base's JSON format."""

    def format(self, record: logging.LogRecord) -> str:
        pairs: Mapping[str, Any] | None = getattr(record, _PAIRS, None)
        line: dict[str, Any] = {
            "ts": round(record.created * 1000, 3),
            "caller": f"{PurePath(record.pathname).parent.name}/{record.filename}:{record.lineno}",
            "msg": record.msg if pairs is not None else record.getMessage(),
        }
        if record.levelno < logging.WARNING:
            line["v"] = max(logging.INFO - record.levelno, 0)
        line.update((key, json_value(value)) for key, value in (pairs or {}).items())
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return to_json(line)


# --- setting up -----------------------------------------------------------------------------------

#: Libraries that Bayplan uses; --v is not about their lines.
_LIBRARIES: Final = ("aiohttp", "asyncio", "concurrent", "h2", "hpack", "urllib3")
#: Writes most lines, if logs are text and go to one stream.
_writer: DirectWriter | None = None


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes to a stream. If somebody closes it, the lines go to the descriptor behind it."""

    def __init__(self, stream: TextIO, descriptor: int = 2) -> None:
        super().__init__(stream)
        self._descriptor = descriptor

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream.closed:
            with contextlib.suppress(OSError):  # the descriptor is closed too
                self.setStream(open(self._descriptor, "w", closefd=False))  # noqa: SIM115
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        """A line that cannot be written costs nothing but the line."""
        with contextlib.suppress(Exception):
            super().handleError(record)


class VModule(NamedTuple):
    """One `pattern=N` of --vmodule: the verbosity of files whose name matches."""

    pattern: str
    verbosity: int

    def matches(self, record: logging.LogRecord) -> bool:
        path = PurePath(record.pathname).with_suffix("")
        return fnmatch.fnmatchcase(str(path) if "/" in self.pattern else path.name, self.pattern)


class Verbosity(logging.Filter):
    """Which lines are written: one verbosity for all files, and others for some. Can be changed while running."""

    def __init__(self, verbosity: int, modules: Sequence[VModule] = ()) -> None:
        super().__init__()
        self._modules = tuple(modules)
        self.set(verbosity)

    def set(self, verbosity: int) -> None:
        self.verbosity = verbosity
        self.level = level_of(verbosity)
        most = max((verbosity, *(module.verbosity for module in self._modules)))
        # The root's, because a plugin's logger may have any name.
        logging.getLogger().setLevel(level_of(most))

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= self.level:
            return True
        module = next((module for module in self._modules if module.matches(record)), None)
        return module is not None and record.levelno >= level_of(module.verbosity)


def set_up(
    verbosity: int = 0,
    *,
    form: str = "text",
    modules: Sequence[VModule] = (),
    split_stream: bool = False,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> Verbosity:
    """Write this process' logs to standard error; with *split_stream*, all but errors to standard output."""
    global _writer
    verbosity_filter = Verbosity(verbosity, modules)
    formatter = JsonFormatter() if form == "json" else TextFormatter()
    errors = LogHandler(err if err is not None else sys.stderr)
    handlers: list[logging.Handler] = [errors]
    if split_stream:
        errors.setLevel(logging.ERROR)
        infos = LogHandler(out if out is not None else sys.stdout, descriptor=1)
        infos.addFilter(lambda record: record.levelno < logging.ERROR)
        handlers.append(infos)
    root = logging.getLogger()
    root.handlers[:] = handlers
    for library in _LIBRARIES:
        logging.getLogger(library).setLevel(logging.WARNING)
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.addFilter(verbosity_filter)
    _writer = DirectWriter(errors, verbosity_filter) if form == "text" and not split_stream else None
    return verbosity_filter
