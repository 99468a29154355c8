"""Readers of traces: by what is in a file, or one of your own.

A reader is a function: the text of a file line by line and the file's name in, entries of a trace out. It raises
`TraceError`, with the line::

    def read(lines, source):
        for number, line in enumerate(lines, start=1):
            time, name, cpu = line.split()
            yield PodArrival(float(time), make_pod(name, cpu=cpu))
"""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from bayplan.framework import PluginError
from bayplan.framework.plugin_loading import load_module
from bayplan.lab import jsonl_trace, openb_trace
from bayplan.lab.trace import Trace, TraceEntry, TraceError

TraceReader: TypeAlias = Callable[[Iterator[str], str], Iterable[TraceEntry]]


def read_trace(*files: str | Path, reader: TraceReader | str | None = None) -> Trace:
    """The trace in *files*, plain or .gz, together: openb has nodes and pods in files of their own.

    *reader* reads them all; without one each file is read by what its first line says. It may be named:
    `file.py:function` or `module:function`.
    """
    chosen = reader_named(reader) if isinstance(reader, str) else reader
    entries: list[TraceEntry] = []
    for file in files:
        entries += _entries(Path(file), chosen)
    return Trace.of(entries)


def reader_named(reference: str) -> TraceReader:
    target, _, name = reference.rpartition(":")
    if not target or not name:
        raise TraceError(f"{reference!r} names no reader; write path/to/file.py:function or module:function")
    try:
        reader = getattr(load_module(target), name, None)
    except (PluginError, ImportError) as error:
        raise TraceError(str(error)) from error
    if not callable(reader):
        raise TraceError(f"{target} has no function {name}")
    found: TraceReader = reader
    return found


def _entries(file: Path, reader: TraceReader | None) -> list[TraceEntry]:
    source = file.name
    try:
        lines = _lines(file)
        first = next(lines, "")
        chosen = reader or _reader_of(first, source)
        return list(chosen(itertools.chain([first] if first else [], lines), source))
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError(f"{source}: the file is cut or damaged: {error}") from error
    except UnicodeDecodeError as error:
        raise TraceError(f"{source}: not text in UTF-8: {error}") from error
    except OSError as error:
        raise TraceError(f"{source}: cannot be read: {error.strerror or error}") from error


def _lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as text:
        yield from text


def _reader_of(first: str, source: str) -> TraceReader:
    if first.lstrip().startswith("{"):
        return jsonl_trace.read
    if "," in first:
        return openb_trace.read
    raise TraceError(
        f"{source}:1: no trace that is known: it begins neither with {jsonl_trace.HEADER} nor with the columns of "
        "openb; name a reader for another form"
    )
