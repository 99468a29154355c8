"""Judges us against recordings of the real thing.

A recording is a file of JSON lines, each with a `kind`; every kind has a judge. A judge gets the line and
what it needs to know, and yields for each step a label and the differences (none: identical).
"""

from __future__ import annotations

import gzip
import importlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from bayplan.config import Catalogue, ConfigError
from bayplan.conformance.report import Difference, Report, Step
from bayplan.model import ObjectError

__all__ = [
    "Context",
    "Difference",
    "Judge",
    "RecordingError",
    "Report",
    "Step",
    "judge_lines",
    "read_lines",
    "run",
]

#: Kind of a line → the function that judges it, as `module:function`; imported when the first such line is met.
JUDGES = {
    "config": "bayplan.conformance.config:judge",
    "extender": "bayplan.conformance.extender:judge",
    "decision": "bayplan.conformance.decision:judge",
    "requeue": "bayplan.conformance.requeue:judge",
    "gang": "bayplan.conformance.gang:judge",
    "order": "bayplan.conformance.order:judge",
    "quota": "bayplan.conformance.decision:judge_unscored",
    "toleration": "bayplan.conformance.decision:judge_unscored",
    "allocatable": "bayplan.conformance.decision:judge",
    "podstate": "bayplan.conformance.decision:judge",
    "api": "bayplan.conformance.api:judge",
}


class Context(msgspec.Struct, frozen=True):
    """What judges may ask for."""

    catalogue: Catalogue


#: Yields (label of the step, differences).
Judge: TypeAlias = Callable[[dict[str, Any], Context], Iterable[tuple[str, list[Difference]]]]


class RecordingError(Exception):
    """A file is not a recording that we can judge."""


def run(files: Iterable[str | Path], context: Context, only: str | None = None) -> Report:
    """Judge all lines of `files`; with `only`, those whose name or seed it is."""
    report = Report()
    for file in files:
        for number, line in enumerate(read_lines(Path(file)), start=1):
            name = name_of(line, number)
            if only is None or only in (name, str(line.get("seed"))):
                report.steps += _judge(line, name, context, f"{file}:{number}")
    return report


def judge_lines(lines: Iterable[dict[str, Any]], context: Context) -> Iterator[Step]:
    """The steps of lines that were read before."""
    for number, line in enumerate(lines, start=1):
        name = name_of(line, number)
        yield from _judge(line, name, context, name)


def name_of(line: dict[str, Any], number: int) -> str:
    for key in ("name", "case", "seed"):
        if key in line:
            return str(line[key])
    return f"line {number}"


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a `.jsonl` or `.jsonl.gz` file."""
    opener = gzip.open if file.suffix == ".gz" else open
    try:
        with opener(file, "rt", encoding="utf-8") as lines:
            for number, text in enumerate(lines, start=1):
                if text.strip():
                    yield _object(text, f"{file}:{number}")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise RecordingError(f"{file}: cannot be read: {error}") from error


def _object(text: str, place: str) -> dict[str, Any]:
    try:
        line = json.loads(text)
    except json.JSONDecodeError as error:
        raise RecordingError(f"{place}: not a line of JSON: {error}") from error
    if not isinstance(line, dict) or "kind" not in line:
        raise RecordingError(f'{place}: not a recorded line: a JSON object with a "kind" is expected')
    return line


def _judge(line: dict[str, Any], name: str, context: Context, place: str) -> Iterator[Step]:
    kind = str(line["kind"])
    if kind not in JUDGES:
        raise RecordingError(f'{place}: the kind "{kind}" cannot be judged; known are {", ".join(JUDGES)}')
    module, _, function = JUDGES[kind].partition(":")
    judge: Judge = getattr(importlib.import_module(module), function)
    try:
        for label, differences in judge(line, context):
            yield Step(kind, name, label, tuple(differences))
    except KeyError as missing:
        raise RecordingError(f"{place}: a line of the kind {kind!r} has no field {missing}") from missing
    except (ConfigError, ObjectError) as error:
        raise RecordingError(f"{place}: {error}") from error
