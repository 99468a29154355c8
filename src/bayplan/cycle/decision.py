"""Decision: what one attempt to schedule a pod came to."""

from __future__ import annotations

from typing import Final, NamedTuple

from bayplan.framework import Diagnosis, ScoreOutcome, Status
from bayplan.model import Pod
from bayplan.observe.record import Record

NO_NODES: Final = "no nodes available to schedule pods"


class Decision(NamedTuple):
    """Either a node, or the reason why there is none."""

    #: Success, or why not: a rejection by the rules, or an ERROR.
    status: Status
    record: Record
    #: The chosen node; empty if there is none.
    node_name: str = ""
    #: Feasible nodes that were scored; None where only one was feasible.
    scores: ScoreOutcome | None = None
    #: Where no node was found: what each node said.
    diagnosis: Diagnosis | None = None
    #: What PostFilter wants done with the pod's nomination: a node, "" to clear it, None to leave it.
    nominate: str | None = None
    #: Pods that must be evicted from the nominated node.
    victims: tuple[Pod, ...] = ()
    n_evaluated: int = 0
    n_feasible: int = 0

    @property
    def reason(self) -> str:
        """The reason of the pod's PodScheduled condition."""
        return "Unschedulable" if self.status.is_rejection else "SchedulerError"

    @property
    def message(self) -> str:
        """The text for the pod's condition and event."""
        return self.diagnosis.message() if self.diagnosis is not None else self.status.message
