"""PreemptionToleration: DefaultPreemption with victims that tolerate preemptors.

Annotations of a PriorityClass protect its pods, for some time or forever, from preemptors below a certain
priority. A class without annotations, or with invalid ones, does not protect its pods.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bayplan.config.args import PreemptionTolerationArgs
from bayplan.framework import CycleState, Diagnosis, Handle, Plugin, PostFilterResult, Preemption, Status
from bayplan.framework.logs import Ref, get_logger
from bayplan.model import Pod, PriorityClass, parse_int64, time_of
from bayplan.plugins.preemption._no_victims import no_victims

if TYPE_CHECKING:
    from bayplan.framework import NodeInfo

log = get_logger("bayplan.plugins")

_PREFIX: Final = "preemption-toleration.scheduling.x-k8s.io/"
MINIMUM_PREEMPTABLE_PRIORITY: Final = _PREFIX + "minimum-preemptable-priority"
TOLERATION_SECONDS: Final = _PREFIX + "toleration-seconds"
_INT32: Final = range(-(2**31), 2**31)


class VictimToleration(NamedTuple):
    """The protection that a PriorityClass gives its pods."""

    #: Preemptors of this priority or a higher one are not tolerated.
    minimum_preemptable_priority: int
    #: How long after they were scheduled; negative: forever.
    seconds: int


class PreemptionToleration(Plugin[PreemptionTolerationArgs]):
    name = "PreemptionToleration"

    def __init__(self, args: PreemptionTolerationArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._preemption = _Preemption(
            handle,
            min_candidate_nodes_percentage=args.min_candidate_nodes_percentage,
            min_candidate_nodes_absolute=args.min_candidate_nodes_absolute,
        )

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult:
        return self._preemption.preempt(state, pod, verdicts)


class _Preemption(Preemption):
    """Does not evict pods that tolerate the preemptor."""

    def __init__(self, handle: Handle, **numbers: Any) -> None:
        super().__init__(handle, **numbers)
        # Requested here, so that the watch starts before the first pod is tried.
        self._classes = handle.informers.lister(PriorityClass)

    def is_victim(self, node: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        return victim.priority < preemptor.priority and not self._tolerates(victim, preemptor)

    def makes_room(self, state: CycleState, node: NodeInfo, leaving: Pod, preemptor: Pod) -> bool:
        return leaving.priority < preemptor.priority

    def no_victims(self, node_name: str, pod: Pod) -> Status:
        return no_victims(self._handle.snapshot.nodes, node_name, pod)

    def _tolerates(self, victim: Pod, preemptor: Pod) -> bool:
        if not victim.spec.priority_class_name:
            return False
        priority_class = self._classes.get(victim.spec.priority_class_name)
        if priority_class is None:
            return False
        toleration = toleration_of(priority_class)
        if toleration is None or preemptor.priority >= toleration.minimum_preemptable_priority:
            return False
        return toleration.seconds < 0 or self._is_within(toleration.seconds, victim)

    def _is_within(self, seconds: int, victim: Pod) -> bool:
        """Whether *victim* was scheduled less than *seconds* ago; without the condition it counts as new."""
        condition = victim.status.condition("PodScheduled")
        if condition is None or condition.status != "True":
            return True
        scheduled = time_of(condition.last_transition_time)
        return scheduled is not None and (self._now() - scheduled).total_seconds() < seconds


def toleration_of(priority_class: PriorityClass) -> VictimToleration | None:
    """The toleration in the annotations; None, with an error in the log, if they are invalid."""
    annotations = priority_class.annotations
    lowest = annotations.get(MINIMUM_PREEMPTABLE_PRIORITY, str(priority_class.value + 1))
    return _parsed(priority_class.name, lowest, annotations.get(TOLERATION_SECONDS, "0"))


@lru_cache(maxsize=1024)
def _parsed(class_name: str, lowest: str, seconds: str) -> VictimToleration | None:
    """Cached, so that an error is logged once and not for every victim."""
    priority, duration = parse_int64(lowest), parse_int64(seconds)
    if priority is None or priority not in _INT32 or duration is None:
        message = "Invalid preemption toleration annotations on PriorityClass, its pods are not protected"
        log.error(None, message, priorityClass=Ref(class_name), minimumPreemptablePriority=lowest, seconds=seconds)
        return None
    return VictimToleration(priority, duration)
