"""How the pods of a trace come: as recorded, faster or slower, several times over, or at a rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from bayplan.lab.trace import PodArrival, Trace, TraceError, moved
from bayplan.model import Pod

Ends: TypeAlias = Literal["recorded", "duration", "never"]


@dataclass(frozen=True, slots=True)
class WorkloadOptions:
    """The defaults change nothing."""

    #: 2.0: twice as many pods in the same time; recorded durations stay.
    speed: float = 1.0
    #: 3: the trace three times, one after another; pods of later rounds have names of their own.
    repeat: int = 1
    #: Pods per second in place of the recorded times: random intervals with this mean, in the recorded order.
    rate: float | None = None
    #: When pods end: at the recorded time, so long after they got their node as recorded, or never.
    ends: Ends = "recorded"

    def applied(self, trace: Trace, seed: int) -> Trace:
        if self.speed <= 0 or self.repeat < 1 or (self.rate is not None and self.rate <= 0):
            raise TraceError("speed and rate must be more than 0, repeat at least 1")
        pods = _repeated(trace.pods, self.repeat) if self.repeat > 1 else trace.pods
        if self.rate is not None:
            pods = _at_rate(pods, self.rate, seed)
        elif self.speed != 1.0:
            pods = [moved(each, each.time / self.speed) for each in pods]
        return trace.with_pods([_ended(each, self.ends) for each in pods])


AS_RECORDED: Final = WorkloadOptions()


def _ended(arrival: PodArrival, ends: Ends) -> PodArrival:
    if ends == "duration":
        return replace(arrival, end=None)
    return replace(arrival, end=arrival.end if ends == "recorded" else None, duration=None)


def _repeated(pods: Sequence[PodArrival], times: int) -> list[PodArrival]:
    """A round begins after the one before, by as much as there is between two pods on average."""
    if not pods:
        return []
    first, last = pods[0].time, pods[-1].time
    period = (last - first) * len(pods) / max(len(pods) - 1, 1) or 1.0
    rounds = list(pods)
    for number in range(1, times):
        rounds += [
            replace(moved(each, each.time + number * period), pod=renamed(each.pod, f"{each.pod.name}-{number}"))
            for each in pods
        ]
    return rounds


def renamed(pod: Pod, name: str) -> Pod:
    """The same pod under another name; what was derived from its spec is kept."""
    metadata = msgspec.structs.replace(pod.metadata, name=name, uid=f"{pod.namespace}/{name}")
    copy = msgspec.structs.replace(pod, metadata=metadata)
    copy.share_derived(pod)
    return copy


def _at_rate(pods: Sequence[PodArrival], rate: float, seed: int) -> list[PodArrival]:
    stream = Random(seed)  # noqa: S311  no secret
    time, placed = 0.0, []
    for each in pods:
        time += stream.expovariate(rate)
        placed.append(moved(each, time))
    return placed
