"""Conformance: compares Bayplan with recordings of kube-scheduler and kube-apiserver.

A recording is a file of JSON lines, each with a `kind`. Each kind has a verifier: it takes the line and a context,
and yields a label and the differences (none: identical) for each step.
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
from bayplan.conformance.recorded_release import recorded_release
from bayplan.conformance.report import ConformanceReport, Difference, StepResult
from bayplan.framework import Registry
from bayplan.model import ObjectError

__all__ = [
    "ConformanceReport",
    "Context",
    "Difference",
    "RecordingError",
    "StepResult",
    "Verifier",
    "read_lines",
    "run",
    "verify_lines",
]

#: Kind of a line → its verifier, as `module:function`; imported when the first such line is read.
VERIFIERS = {
    "config": "bayplan.conformance.configurations:verify",
    "extender": "bayplan.conformance.extender_calls:verify",
    "decision": "bayplan.conformance.decisions:verify",
    "requeue": "bayplan.conformance.requeues:verify",
    "gang": "bayplan.conformance.gang:verify",
    "order": "bayplan.conformance.queue_order:verify",
    "quota": "bayplan.conformance.decisions:verify_unscored",
    "toleration": "bayplan.conformance.decisions:verify_unscored",
    "allocatable": "bayplan.conformance.decisions:verify",
    "podstate": "bayplan.conformance.decisions:verify",
    "claims": "bayplan.conformance.claims:verify",
    "api": "bayplan.conformance.api_requests:verify",
}


class Context(msgspec.Struct, frozen=True):
    """What verifiers need besides the line."""

    catalogue: Catalogue
    #: Whether each line is compared with the release that it was recorded with; else with the catalogue's.
    follows_lines: bool = True

    def of_line(self, line: dict[str, Any]) -> Context:
        """The same, following the release that the line was recorded with."""
        release = recorded_release(line, default=self.catalogue.release)
        if not self.follows_lines or release is self.catalogue.release:
            return self
        # A bare catalogue, made from tables, has one release only.
        return Context(self.catalogue.following(release)) if isinstance(self.catalogue, Registry) else self


#: Yields (label of the step, differences).
Verifier: TypeAlias = Callable[[dict[str, Any], Context], Iterable[tuple[str, list[Difference]]]]


class RecordingError(Exception):
    """A file is not a recording, or of an unknown kind."""


def run(files: Iterable[str | Path], context: Context, only: str | None = None) -> ConformanceReport:
    """Verify all lines of `files`; with `only`, those whose name or seed it is."""
    report = ConformanceReport()
    for file in files:
        for number, line in enumerate(read_lines(Path(file)), start=1):
            name = name_of(line, number)
            if only is None or only in (name, str(line.get("seed"))):
                report.steps += _verify(line, name, context, f"{file}:{number}")
    return report


def verify_lines(lines: Iterable[dict[str, Any]], context: Context) -> Iterator[StepResult]:
    """The steps of lines that were read before."""
    for number, line in enumerate(lines, start=1):
        name = name_of(line, number)
        yield from _verify(line, name, context, name)


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


def _verify(line: dict[str, Any], name: str, context: Context, place: str) -> Iterator[StepResult]:
    kind = str(line["kind"])
    if kind not in VERIFIERS:
        raise RecordingError(f'{place}: the kind "{kind}" is unknown; known kinds are {", ".join(VERIFIERS)}')
    module, _, function = VERIFIERS[kind].partition(":")
    verifier: Verifier = getattr(importlib.import_module(module), function)
    context = context.of_line(line)
    release = context.catalogue.release.minor
    try:
        for label, differences in verifier(line, context):
            yield StepResult(kind, name, label, tuple(differences), release)
    except KeyError as missing:
        raise RecordingError(f"{place}: a line of the kind {kind!r} has no field {missing}") from missing
    except (ConfigError, ObjectError) as error:
        raise RecordingError(f"{place}: {error}") from error
