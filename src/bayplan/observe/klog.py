"""Logs as Kubernetes components write them: klog's text, or JSON.

    log = get_logger("bayplan.cycle")
    log.info("Attempting to schedule pod", v=3, pod=pod)
    log.error(error, "Error scheduling pod; retrying", pod=pod)

Loggers are those of `logging`, with a message and pairs beside them; plain `logging` calls are written in the same
form. klog's verbosity is a level of `logging`: V(0) is INFO, V(1) one below, and so on, so that a message that is
not wanted costs one comparison.
"""

from __future__ import annotations

import fnmatch
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from time import time
from types import FrameType
from typing import Any, Final, NamedTuple, TextIO

from bayplan.observe.klog_lines import Ref as Ref
from bayplan.observe.klog_lines import ShortWay, head, plain, said, to_json

MAX_VERBOSITY: Final = 19  # the level of V(20) would be 0, which `logging` takes for "not set"
_PAIRS: Final = "bayplan_pairs"


def level_of(verbosity: int) -> int:
    """The level of `logging` that stands for V(*verbosity*)."""
    return logging.INFO - min(max(verbosity, 0), MAX_VERBOSITY)


class Logger:
    """A logger for messages with pairs."""

    __slots__ = ("_logger",)

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def enabled(self, v: int) -> bool:
        return self._logger.isEnabledFor(logging.INFO - v)

    def info(self, message: str, /, *, v: int = 0, depth: int = 0, **pairs: Any) -> None:
        """*depth* says how many callers up the line is that is shown."""
        level, logger = logging.INFO - v, self._logger
        if not logger.isEnabledFor(level):
            return
        frame, created = sys._getframe(1 + depth), time()
        path, line = frame.f_code.co_filename, frame.f_lineno
        if _short_way is None or not _short_way.write(logger, level, created, path, line, message, pairs):
            logger.handle(_Record(logger.name, level, frame, created, message, pairs))

    def error(self, error: object, message: str, /, *, trace: BaseException | None = None, **pairs: Any) -> None:
        """*error* is what went wrong, or None; *trace* adds a traceback."""
        if error is not None:
            pairs = {"err": error, **pairs}
        self._logger.error(message, extra={_PAIRS: pairs}, exc_info=trace, stacklevel=2)


def get_logger(name: str) -> Logger:
    return Logger(name)


class _Record(logging.LogRecord):
    """Made in half the time: there is one for every pod, and nobody here asks for threads and processes."""

    relativeCreated = msecs = 0.0
    args = exc_info = exc_text = stack_info = None
    thread = threadName = process = processName = taskName = None

    def __init__(
        self, name: str, level: int, frame: FrameType, created: float, message: str, pairs: Mapping[str, Any]
    ) -> None:
        self.name, self.levelno, self.msg = name, level, message
        self.levelname = logging.getLevelName(level)
        self.created = created
        self.msecs = self.created % 1 * 1000
        self.pathname, self.lineno, self.funcName = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        self.filename = self.pathname.rpartition("/")[2]
        self.module = self.filename.removesuffix(".py")
        setattr(self, _PAIRS, pairs)


# --- text -----------------------------------------------------------------------------------------


class TextFormatter(logging.Formatter):
    """`I1116 00:13:22.668123   12345 attempts.py:80] "Attempting to schedule pod" pod="default/web"`"""

    def format(self, record: logging.LogRecord) -> str:
        start = head(_letter(record), record.created, record.filename, record.lineno)
        pairs: Mapping[str, Any] | None = getattr(record, _PAIRS, None)
        text = start + (record.getMessage() if pairs is None else said(record.msg, pairs))
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
        line.update((key, plain(value)) for key, value in (pairs or {}).items())
        if record.exc_info:
            line["stacktrace"] = self.formatException(record.exc_info)
        return to_json(line)


# --- setting up -----------------------------------------------------------------------------------

#: That of most lines, where logs are text and go to one stream.
_short_way: ShortWay | None = None


class VModule(NamedTuple):
    """One `pattern=N` of --vmodule: files whose name matches have a verbosity of their own."""

    pattern: str
    verbosity: int

    def matches(self, record: logging.LogRecord) -> bool:
        path = PurePath(record.pathname).with_suffix("")
        return fnmatch.fnmatchcase(str(path) if "/" in self.pattern else path.name, self.pattern)


class Verbosity(logging.Filter):
    """What is shown: one verbosity for all, and others for some files. May be changed while running."""

    def __init__(self, verbosity: int, modules: Sequence[VModule] = ()) -> None:
        super().__init__()
        self._modules = tuple(modules)
        self.set(verbosity)

    def set(self, verbosity: int) -> None:
        self.verbosity = verbosity
        self.level = level_of(verbosity)
        most = max((verbosity, *(module.verbosity for module in self._modules)))
        logging.getLogger("bayplan").setLevel(level_of(most))

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
    """Write this process' logs to standard error; with *split_stream* what is no error to standard output."""
    global _short_way
    shown = Verbosity(verbosity, modules)
    formatter = JsonFormatter() if form == "json" else TextFormatter()
    errors = logging.StreamHandler(err if err is not None else sys.stderr)
    handlers: list[logging.Handler] = [errors]
    if split_stream:
        errors.setLevel(logging.ERROR)
        infos = logging.StreamHandler(out if out is not None else sys.stdout)
        infos.addFilter(lambda record: record.levelno < logging.ERROR)
        handlers.append(infos)
    root = logging.getLogger()
    root.setLevel(logging.WARNING)  # what libraries have to say
    root.handlers[:] = handlers
    for handler in handlers:
        handler.setFormatter(formatter)
        handler.addFilter(shown)
    _short_way = ShortWay(errors, shown) if form == "text" and not split_stream else None
    return shown
