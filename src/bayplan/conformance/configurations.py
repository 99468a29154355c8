"""Verifies recorded configurations: what a file became, or which fields kube-scheduler refused it for.

Identical means: accepted by both, with an equal effective configuration and equal expansion; or refused by
both, and our message names every field path that the recorded errors name. The words may differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bayplan.config import ConfigError, Loaded, Path, Problem, load
from bayplan.conformance import Context
from bayplan.conformance.report import Difference, compare
from bayplan.framework import Registry

#: Points of alpha features, which are not compared.
ALPHA_POINTS = ("placementGenerate", "placementScore")

_FIELD_PATH = r"[A-Za-z]\w*(?:\[[^\]]*\])*(?:\.\w+(?:\[[^\]]*\])*)*"
_REASONS = (
    "Invalid value|Required value|Duplicate value|Unsupported value|Forbidden|Not found|Too long|Too many|Too few"
    "|Internal error"
)
#: `path: Invalid value: …`, also several of them in one text.
_VALIDATION = re.compile(rf"({_FIELD_PATH}): (?:{_REASONS})")
_UNKNOWN_FIELD = re.compile(rf'(?:unknown|duplicate) field "({_FIELD_PATH})"')
_REPEATED_KEY = re.compile(r'key "([^"]+)" already set in map')
_JSON_TYPE = re.compile(r"Go struct field \w+\.([\w.]+) of type")
_MISSING = re.compile(r"Object '(\w+)' is missing")
#: What precedes the errors of arguments: their place, or only the plugin that was being built.
_DECODING = re.compile(rf"decoding \.({_FIELD_PATH}): ")
_BUILDING = re.compile(r'initializing plugin "([^"]+)": ')


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One line is one step."""
    ours: Loaded | ConfigError
    # The recorded scheduler refused the names that only others have, the scheduler-plugins family among them.
    catalogue = context.catalogue
    stock = catalogue.stock() if isinstance(catalogue, Registry) else catalogue
    try:
        ours = load(line["config"], source="config", catalogue=stock)
    except ConfigError as error:
        ours = error
    if "errors" in line:
        yield "", list(_verify_refused(line["errors"], ours))
    else:
        yield "", list(_verify_accepted(line, ours))


def _verify_accepted(line: dict[str, Any], ours: Loaded | ConfigError) -> Iterator[Difference]:
    if isinstance(ours, ConfigError):
        yield Difference("outcome", "accepted", f"refused:\n{ours}")
        return
    effective = ours.effective()
    yield from compare(_without_content_type(line["effective"]), _without_content_type(effective), "effective")
    yield from compare(_without_alpha(line["expanded"]), _without_alpha(ours.expanded()), "expanded")


def _verify_refused(errors: list[str], ours: Loaded | ConfigError) -> Iterator[Difference]:
    if isinstance(ours, Loaded):
        yield Difference("outcome", "refused:\n" + "\n".join(errors), "accepted")
        return
    for error in errors:
        for wanted in named_fields(error):
            if not any(wanted.is_named_by(problem) for problem in ours.problems):
                yield Difference(f"field {wanted.path}", error, str(ours))


def _without_content_type(effective: dict[str, Any]) -> dict[str, Any]:
    connection = {key: value for key, value in effective["clientConnection"].items() if key != "contentType"}
    return {**effective, "clientConnection": connection}


def _without_alpha(expanded: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {point: plugins for point, plugins in points.items() if point not in ALPHA_POINTS}
        for name, points in expanded.items()
    }


class NamedField:
    """A field that a recorded error names.

    `below` tells what the path is relative to: nothing (a path from the root), the arguments of a plugin
    (`args`), or any mapping (`mapping`, where the error gives the bare key only).
    """

    def __init__(self, path: str, below: str = "", *, indexed: bool = True) -> None:
        # Go's own field names, where they slip in, are those of the file with a capital.
        self.path = Path(_json_name(step) if isinstance(step, str) else step for step in Path.parse(path))
        self._below = below
        #: False where the error leaves out list positions.
        self._indexed = indexed

    def is_named_by(self, problem: Problem) -> bool:
        """Whether the problem is about this field or one further in."""
        return any(self._matches(Path.parse(path)) for path in (problem.path, problem.upstream_path) if path)

    def _matches(self, ours: Path) -> bool:
        ours = Path(_json_name(step) if isinstance(step, str) else step for step in ours)
        if not self._indexed:
            ours = Path(step for step in ours if isinstance(step, str))
        if self._below == "mapping":
            return ours[-1:] == self.path
        if self._below == "args":
            if "args" not in ours:
                return False
            ours = Path(ours[ours.index("args") + 1 :])
        return ours.starts_with(self.path)

    def __repr__(self) -> str:
        return f"NamedField({self.path}, {self._below!r})"


def named_fields(error: str) -> list[NamedField]:
    """The fields that one recorded error names, whatever the error is about."""
    head, *args_errors = _DECODING.split(error)
    fields = _fields_in(head, args="")
    for place, text in zip(args_errors[::2], args_errors[1::2], strict=True):
        fields += [NamedField(place), *_fields_in(text, args=f"{place}.args.")]
    return fields


def _fields_in(text: str, args: str) -> list[NamedField]:
    """The fields named in a text that has no paths of arguments; `args`: the path of the arguments it refers
    to."""
    below = "args" if _BUILDING.search(text) else ""
    fields = [NamedField(path, below) for path in _VALIDATION.findall(text)]
    fields += [NamedField(args + path) for path in _UNKNOWN_FIELD.findall(text)]
    fields += [NamedField(key, "mapping") for key in _REPEATED_KEY.findall(text)]
    fields += [NamedField(path) for path in _MISSING.findall(text)]
    for path in _JSON_TYPE.findall(text):
        # Such a path leaves out list positions, and has Go's embedded structs in it, with their capital.
        bare = ".".join(step for step in path.split(".") if not step[:1].isupper())
        fields.append(NamedField(bare, "args" if args else "", indexed=False))
    return fields


def _json_name(step: str) -> str:
    return step[:1].lower() + step[1:]
