"""Verifies recorded gangs: groups of pods that get places together or not at all, and what changes do to them.

Identical means: after every step as many pods of each group are bound. Which of them, and where, may differ.

The recorded scheduler let a group's pods go, or took them back, beside its next attempts, so how far these had
come when the next pod was tried was a matter of chance: two recordings of one scenario may differ. A line is
therefore played with our own timing first, and only if that comes out differently with others, ten in all
(`TIMINGS`); it is identical if one play comes out as recorded, from the first step to the last. What is tried is
fixed, so that a line gives the same result every time; no rule of ours depends on it.

One defect of the original is not ours (docs/plugins-family.md): by such a chance it gives up all members of a
group and calls none of them again, whatever becomes free. The recording shows it: nothing was said to any of them
but that they had to give their places back. Where we place such a group, that is no difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from bayplan.conformance import Context
from bayplan.conformance.replay import Replay
from bayplan.conformance.report import Difference, compare
from bayplan.model import Pod, decode_object
from bayplan.model.times import parse_time
from bayplan.shell.played_cluster import STANDARD_TIMING, Timing

STEP_SECONDS: Final = 8.0
#: Changes of one step follow each other as fast as a client sends them.
CHANGE_SECONDS: Final = 0.01
#: Failed attempts write to the API server, which makes them slow; our own timing, without lags, comes first.
ATTEMPT_SECONDS: Final = 0.01
TIMINGS: Final = (
    Timing(ATTEMPT_SECONDS),
    Timing(ATTEMPT_SECONDS, controller_seconds=0.005),
    *(
        Timing(ATTEMPT_SECONDS, controller_seconds, lag_seconds=0.02, seed=seed)
        for seed in range(4)
        for controller_seconds in (0.02, 0.005)
    ),
)
LABEL: Final = "scheduling.x-k8s.io/pod-group"
#: What is said to a pod that gives its place back, and to one that was never tried.
GIVEN_BACK: Final = ("optimistic rejection in PostFilter", "rejection in Unreserve", "rejected due to timeout")
GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"
#: Stands in a recording for pods without a group.
NO_GROUP: Final = "-"


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One step of the line is one step."""
    plays = (list(_play(line, context, timing)) for timing in TIMINGS)
    best = next(plays)
    for play in plays:
        if not _n_differing(best):
            break
        best = min(best, play, key=_n_differing)
    yield from ((f"step {number}", found) for number, found in enumerate(best))


def _n_differing(play: list[list[Difference]]) -> int:
    return sum(bool(found) for found in play)


def _play(line: dict[str, Any], context: Context, timing: Timing) -> Iterator[list[Difference]]:
    """The differences of each step."""
    replay = started(line, context, timing)
    for step in line["steps"]:
        for change in step["changes"]:
            _change(replay, change)
        replay.run(STEP_SECONDS - CHANGE_SECONDS * len(step["changes"]))
        yield list(_differences(step, _bound_per_group(line, replay), replay))
    replay.close()


def started(line: dict[str, Any], context: Context, timing: Timing = STANDARD_TIMING) -> Replay:
    """The cluster when the scheduler starts, with all pending pods in it."""
    pending = [Pod.from_dict(each) for each in line["pending"]]
    created = [pod.metadata.creation_timestamp for pod in pending]
    start = max(parse_time(time).timestamp() for time in created if time is not None) + 0.25
    replay = Replay({"bound": (), **line}, context.catalogue, None, start, timing)
    replay.list_pods(pending)
    return replay


def _differences(step: dict[str, Any], ours: dict[str, int], replay: Replay) -> Iterator[Difference]:
    recorded = {name: count for name, count in step["bound_per_group"].items() if count}
    placed = {name for name, count in ours.items() if count > recorded.get(name, 0)}
    stranded = {name for name in placed if _was_stranded(name, step, replay)}
    for name in stranded:
        recorded.pop(name, None)
    yield from compare(recorded, {name: count for name, count in ours.items() if name not in stranded}, "bound")


def _was_stranded(group: str, step: dict[str, Any], replay: Replay) -> bool:
    """Whether the original had given up every member that it had not placed."""
    members = {pod.name for pod in replay.pods.values() if pod.labels.get(LABEL) == group}
    said = [text for name, texts in step["messages"].items() if name in members for text in texts]
    return bool(said) and all(any(each in text for each in (*GIVEN_BACK, GATED)) for text in said)


def _change(replay: Replay, change: dict[str, Any]) -> None:
    old, new = (decode_object(each) if each is not None else None for each in map(change.get, ("old", "object")))
    if isinstance(old, Pod):
        old = replay.pods.get(old.key)
    if old is not None or new is not None:
        replay.apply(old, new)
    replay.run(CHANGE_SECONDS)


def _bound_per_group(line: dict[str, Any], replay: Replay) -> dict[str, int]:
    """Of the pods that were not bound from the beginning."""
    fillers = {Pod.from_dict(each).key for each in line["bound"]}
    bound = (pod for pod in replay.pods.values() if pod.node_name and pod.key not in fillers)
    return dict(Counter(pod.labels.get(LABEL, NO_GROUP) for pod in bound))
