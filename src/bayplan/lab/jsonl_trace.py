"""Bayplan's own form of a trace: one JSON object per line, in the order of their times.

    {"kind": "BayplanTrace", "version": 1}
    {"time": 0, "object": {"apiVersion": "v1", "kind": "Node", …}}
    {"time": 3.5, "pod": {"metadata": {"name": "a", …}, "spec": {…}}, "duration": 60}
    {"time": 20, "podGone": "default/a"}
    {"time": 30, "nodeGone": "node-1"}
    {"time": 30, "end": true}

The last line tells that nothing is missing. `duration` is how long the pod runs once it has its node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

import msgspec

from bayplan.lab.trace import NodeDeparture, ObjectArrival, PodArrival, Trace, TraceEntry, TraceError
from bayplan.model import Pod, decode_object

VERSION: Final = 1
HEADER: Final = '{"kind": "BayplanTrace", "version": 1}'
_KINDS: Final = ("object", "pod", "podGone", "nodeGone", "end")


def read(lines: Iterator[str], source: str) -> list[TraceEntry]:
    _check_header(next(lines, ""), source)
    entries: list[TraceEntry] = []
    #: Where the pods are that have no end yet.
    arrivals: dict[str, int] = {}
    last = 0.0
    is_complete = False
    number = 1
    for number, text in enumerate(lines, start=2):
        place = f"{source}:{number}"
        if is_complete:
            raise TraceError(f"{place}: something follows the closing line")
        line = _decoded(text, place)
        time = _time(line, last, place)
        last = time
        kind = next((each for each in _KINDS if each in line), None)
        if kind is None:
            raise TraceError(f"{place}: none of {', '.join(_KINDS)} is there")
        if kind == "end":
            is_complete = True
        elif kind == "podGone":
            _end_pod(entries, arrivals, line[kind], time, place)
        else:
            entry = _entry(kind, line, time, place)
            if isinstance(entry, PodArrival):
                if entry.pod.key in arrivals:
                    raise TraceError(f"{place}: the pod {entry.pod.key} is there already")
                arrivals[entry.pod.key] = len(entries)
            entries.append(entry)
    if not is_complete:
        raise TraceError(
            f'{source}: the trace is cut after line {number}: its last line {{"time": …, "end": true}} is missing'
        )
    return entries


def _check_header(text: str, source: str) -> None:
    header = _decoded(text, f"{source}:1")
    if header.get("kind") != "BayplanTrace":
        raise TraceError(f"{source}:1: the first line of a trace is {HEADER}")
    if header.get("version") != VERSION:
        raise TraceError(
            f"{source}:1: a trace of version {header.get('version')}; this Bayplan reads version {VERSION}"
        )


def _decoded(text: str, place: str) -> dict[str, Any]:
    try:
        line = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise TraceError(f"{place}: not a whole JSON object; is the trace cut? ({error})") from error
    if not isinstance(line, dict):
        raise TraceError(f"{place}: a JSON object is expected")
    return line


def _time(line: dict[str, Any], last: float, place: str) -> float:
    time = line.get("time")
    if not isinstance(time, int | float) or isinstance(time, bool) or not 0 <= time < 1e12:
        raise TraceError(f"{place}: time: seconds since the trace began are expected, not {time!r}")
    if time < last:
        raise TraceError(f"{place}: time goes backwards: {time:g} after {last:g}")
    return float(time)


def _entry(kind: str, line: dict[str, Any], time: float, place: str) -> TraceEntry:
    try:
        if kind == "nodeGone":
            return NodeDeparture(time, str(line[kind]))
        if kind == "object":
            return ObjectArrival(time, decode_object(line[kind]))
        duration = line.get("duration")
        if duration is not None and not (isinstance(duration, int | float) and duration >= 0):
            raise TraceError(f"{place}: duration: seconds are expected, not {duration!r}")
        return PodArrival(time, as_created(line[kind]), duration=duration)
    except TraceError:
        raise
    except (ValueError, TypeError, KeyError, LookupError) as error:
        raise TraceError(f"{place}: {kind}: {error}") from error


def as_created(mapping: dict[str, Any]) -> Pod:
    """A pod with what the API server would have added."""
    metadata = {"namespace": "default", **mapping["metadata"]}
    metadata.setdefault("uid", f"{metadata['namespace']}/{metadata['name']}")
    spec = {"schedulerName": "default-scheduler", **mapping["spec"]}
    return Pod.from_dict({"apiVersion": "v1", "kind": "Pod", **mapping, "metadata": metadata, "spec": spec})


def _end_pod(entries: list[TraceEntry], arrivals: dict[str, int], key: object, time: float, place: str) -> None:
    index = arrivals.pop(str(key), None)
    arrival = entries[index] if index is not None else None
    if index is None or not isinstance(arrival, PodArrival):
        raise TraceError(f"{place}: podGone: no pod {key!r} is there; pods are named namespace/name")
    entries[index] = replace(arrival, end=time)


def write(trace: Trace) -> Iterable[str]:
    """The lines of *trace* in this form."""
    yield HEADER + "\n"
    timed: list[tuple[float, dict[str, Any]]] = []
    for each in trace.entries:
        if isinstance(each, NodeDeparture):
            timed.append((each.time, {"nodeGone": each.name}))
        elif isinstance(each, ObjectArrival):
            timed.append((each.time, {"object": dict(each.object.whole)}))
        else:
            duration = {} if each.duration is None else {"duration": each.duration}
            timed.append((each.time, {"pod": dict(each.pod.whole), **duration}))
            if each.end is not None:
                timed.append((each.end, {"podGone": each.pod.key}))
    timed.sort(key=lambda pair: pair[0])
    timed.append((timed[-1][0] if timed else 0.0, {"end": True}))
    for time, line in timed:
        yield msgspec.json.encode({"time": time, **line}).decode() + "\n"
