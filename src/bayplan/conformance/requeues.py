"""Verifies recorded requeues: a cluster with unschedulable pods, one change, and which pods were tried again.

Identical means: the same pods were tried before the change and after it (whether, not how often), and each has the
same node or the same message, at both times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bayplan.conformance import Context
from bayplan.conformance.replay import Replay
from bayplan.conformance.report import Difference, compare
from bayplan.framework import NodeTable
from bayplan.framework.evaluator import Positions
from bayplan.model import KubeObject, Pod, decode_object

#: Timing of the recordings: every backoff ends before the one change is made.
CREATION_SECONDS: Final = 0.003
SETTLING_SECONDS: Final = 2.5
OBSERVATION_SECONDS: Final = 3.0


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One line is one step."""
    change = line["change"]
    old, new = _decoded(change.get("old")), _decoded(change.get("object"))
    present = new if new is not None else old
    label = f"{change['verb']} {present.KIND} {present.key}" if present is not None else change["verb"]
    yield label, list(_verify(line, context, old, new))


def _verify(
    line: dict[str, Any], context: Context, old: KubeObject | None, new: KubeObject | None
) -> Iterator[Difference]:
    recorded = line["result"]
    pods = [Pod.from_dict(each) for each in line["pending"]]

    def choose(pod: Pod, nodes: NodeTable, best: Positions) -> int:
        return _recorded_choice(recorded.get(pod.name), nodes, best)

    replay = Replay(line, context.catalogue, choose)
    for pod in pods:
        replay.apply(None, pod)
        replay.run(CREATION_SECONDS)
    replay.run(SETTLING_SECONDS)
    before = {pod.name: _state(replay, pod) for pod in pods}
    tried_before = dict(replay.attempts)
    replay.apply(_as_it_is(replay, old), new)
    replay.run(OBSERVATION_SECONDS)
    replay.close()
    for pod in pods:
        theirs = recorded[pod.name]
        was_tried = tried_before.get(pod.key, 0) > 0
        again = replay.attempts[pod.key] > tried_before.get(pod.key, 0)
        yield from compare(theirs["attempts_before"] > 0, was_tried, f"{pod.name}: tried before")
        yield from compare(theirs["before"], before[pod.name], f"{pod.name}: before")
        yield from compare(theirs["attempts_after_change"] > 0, again, f"{pod.name}: tried again")
        yield from compare(theirs["after"], _state(replay, pod), f"{pod.name}: after")


def _decoded(mapping: dict[str, Any] | None) -> KubeObject | None:
    return None if mapping is None else decode_object(mapping)


def _as_it_is(replay: Replay, old: KubeObject | None) -> KubeObject | None:
    """The object of the change as the replay has it: the status of a pending pod is ours."""
    return replay.pods.get(old.key, old) if isinstance(old, Pod) else old


def _recorded_choice(recorded: dict[str, Any] | None, nodes: NodeTable, best: Positions) -> int:
    """The recorded node, if it is one of the best: among those kube-scheduler picked by chance."""
    position = nodes.position(recorded["after"]["node"] or "") if recorded is not None else None
    return position if position is not None and position in best else int(best[0])


def _state(replay: Replay, pod: Pod) -> dict[str, str | None]:
    """The node of the pod, or the message of its condition."""
    now = replay.pods.get(pod.key)
    if now is None:
        return {"node": None, "message": None}
    condition = now.status.condition("PodScheduled")
    message = condition.message if condition is not None and condition.status == "False" else None
    return {"node": now.node_name or None, "message": message}
