"""ExtenderSession: the extenders of one attempt. In which order they are called, and what follows from a result.

The session does no I/O: its methods are generators that yield `AskExtenders` and are resumed with the results.
Every call is noted in the attempt's record.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import numpy as np

from bayplan.core.messages import AskExtenders, ExtenderCall
from bayplan.framework import MAX_SCORE, Candidate, Code, Diagnosis, IntArray, NodeTable, Status, Victims
from bayplan.framework.candidates import ExtenderCandidates, candidate_of, none_needed
from bayplan.framework.extenders import MAX_EXTENDER_SCORE, Extender, ExtenderError, FilterResponse, VictimUids
from bayplan.model import ObjectError, Pod
from bayplan.observe import klog
from bayplan.observe.record import ExtenderAnswer, Record

if TYPE_CHECKING:
    from bayplan.cache import CacheSnapshot
    from bayplan.framework import Clock

log = klog.get_logger("bayplan.core")

T = TypeVar("T")
#: Yields questions, takes the results, returns a T.
ExtenderSteps: TypeAlias = Generator[AskExtenders, Sequence[Any], T]

#: Extenders score up to 10, nodes up to 100.
SCALE: Final = MAX_SCORE // MAX_EXTENDER_SCORE


class ExtenderSession:
    """The extenders that are interested in one pod."""

    def __init__(
        self, extenders: Iterable[Extender], pod: Pod, snapshot: CacheSnapshot, clock: Clock, record: Record
    ) -> None:
        self._pod = pod
        self._record = record
        self._extenders = [extender for extender in extenders if extender.is_interested(pod)]
        self._snapshot = snapshot
        self._clock = clock
        #: Whether the nodes that are left include one twice.
        self.has_repeated_nodes = False

    # --- filter -----------------------------------------------------------------------------------

    def filter(self, nodes: NodeTable, diagnosis: Diagnosis) -> ExtenderSteps[NodeTable]:
        """The nodes that no extender rejects; the reasons go into *diagnosis*. Raises ExtenderError."""
        for extender in self._extenders:
            if not extender.is_filter:
                continue
            if not len(nodes):
                break
            start = perf_counter()
            results = yield AskExtenders((ExtenderCall(extender, "filter", self._pod, nodes),))
            try:
                filtered: FilterResponse = _value(results[0])
                nodes = self._left(extender, filtered, nodes)
            except ExtenderError as error:
                if self._is_ignored(extender, "filter", start, error):
                    continue
                raise
            for node_name, reason in filtered.failed.items():
                diagnosis.set_status(node_name, Status.unschedulable(reason))
            for node_name, reason in filtered.unresolvable.items():
                diagnosis.set_status(node_name, Status.unresolvable(reason))
            failed = {**filtered.failed, **filtered.unresolvable}
            self._note(extender, "filter", start, failed=failed, n_left=len(nodes))
        return nodes

    def _left(self, extender: Extender, filtered: FilterResponse, nodes: NodeTable) -> NodeTable:
        if filtered.names is None:
            if not all(node.name for node in filtered.nodes):
                raise ExtenderError(f'extender "{extender.name}" claims a filtered node that has no name')
            try:
                return self._snapshot.returned(filtered.nodes)
            except ObjectError as error:
                raise ExtenderError(str(error)) from None
        positions: list[int] = []
        for name in filtered.names:
            position = nodes.position(name)
            if position is None:
                raise ExtenderError(
                    f'extender "{extender.name}" claims a filtered node "{name}" '
                    "which is not found in the input node list"
                )
            positions.append(position)
        # A name that is there twice is two feasible nodes, as in kube-scheduler.
        self.has_repeated_nodes = len(set(positions)) < len(positions)
        return nodes.select(np.array(positions, dtype=np.int64))

    # --- prioritize -------------------------------------------------------------------------------

    def prioritize(self, nodes: NodeTable) -> ExtenderSteps[IntArray]:
        """What the extenders' scores add to each node's total. An extender that fails adds nothing."""
        called = [extender for extender in self._extenders if extender.is_prioritizer]
        added = [0] * len(nodes)
        if called:
            start = perf_counter()
            results = yield AskExtenders(
                tuple([ExtenderCall(extender, "prioritize", self._pod, nodes) for extender in called])
            )
            for extender, result in zip(called, results, strict=True):
                scores = self._scores(extender, result, start)
                for position, name in enumerate(nodes.names.tolist() if scores else ()):
                    added[position] += scores.get(name, 0)
        return np.array([wrapped_int64(each) for each in added], dtype=np.int64)

    def _scores(self, extender: Extender, result: Any, start: float) -> Mapping[str, int]:
        try:
            named: Sequence[tuple[str, int]] = _value(result)
        except ExtenderError as error:
            self._note(extender, "prioritize", start, error=str(error), ignored=True)
            log.info(
                "Failed to run extender's priority function. No score given by this extender.",
                v=5,
                error=str(error),
                pod=self._pod,
                extender=extender.name,
            )
            return {}
        scores: dict[str, int] = {}
        for name, score in named:
            if log.verbosity >= 10:
                message = "Extender scored node for pod"
                log.info(message, v=10, pod=self._pod, extender=extender.name, node=name, score=score)
            scores[name] = scores.get(name, 0) + score * extender.weight * SCALE
        self._note(extender, "prioritize", start, scores=scores, n_left=len(scores))
        return scores

    # --- preempt ----------------------------------------------------------------------------------

    def process_preemption(self, candidates: Sequence[Candidate]) -> ExtenderSteps[ExtenderCandidates | None]:
        """The candidates that the extenders leave; None if no extender takes part in preemption."""
        called = [extender for extender in self._extenders if extender.is_preemptor]
        for extender in called:
            start = perf_counter()
            results = yield AskExtenders((ExtenderCall(extender, "process_preemption", self._pod, candidates),))
            try:
                claims: Mapping[str, VictimUids] = _value(results[0])
                candidates = self._claimed(extender, claims)
            except ExtenderError as error:
                if self._is_ignored(extender, "preempt", start, error):
                    continue
                return ExtenderCandidates((), Status(Code.ERROR, (str(error),)))
            self._note(extender, "preempt", start, n_left=len(candidates))
            if not candidates:
                break
        return ExtenderCandidates(candidates) if called else None

    def _claimed(self, extender: Extender, claims: Mapping[str, VictimUids]) -> Sequence[Candidate]:
        found = {name: self._victims(extender, name, claim) for name, claim in claims.items()}
        candidates = []
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        for name, victims in found.items():
            if victims.pods:
                candidates.append(candidate_of(name, victims, now))
            elif not extender.is_ignorable:
                raise ExtenderError(none_needed(name).message)
        return candidates

    def _victims(self, extender: Extender, node_name: str, claim: VictimUids) -> Victims:
        node = self._snapshot.node(node_name)
        if node is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node_name}"')
        present = {pod.uid: pod for pod in node.pods}
        for uid in claim.uids:
            if uid not in present:
                raise ExtenderError(
                    f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}, "
                    "but the pod is not found on that node"
                )
        return Victims(tuple(present[uid] for uid in claim.uids), claim.n_violations)

    # ----------------------------------------------------------------------------------------------

    def _is_ignored(self, extender: Extender, verb: str, start: float, error: ExtenderError) -> bool:
        self._note(extender, verb, start, error=str(error), ignored=extender.is_ignorable)
        if extender.is_ignorable:
            message = "Skipping extender as it returned error and has ignorable flag set"
            log.info(message, extender=extender.name, err=str(error))
        return extender.is_ignorable

    def _note(
        self,
        extender: Extender,
        verb: str,
        start: float,
        *,
        error: str = "",
        ignored: bool = False,
        failed: Mapping[str, str] | None = None,
        scores: Mapping[str, int] | None = None,
        n_left: int = 0,
    ) -> None:
        seconds = perf_counter() - start
        self._record.extenders.append(
            ExtenderAnswer(extender.name, verb, seconds, error, ignored, failed or {}, scores or {}, n_left)
        )


def _value(result: Any) -> Any:
    """The result of a call; raises the exception that stands for a call that failed."""
    if isinstance(result, Exception):
        raise result
    return result


def wrapped_int64(number: int) -> int:
    """Overflows as Go's int64 does."""
    return (number + 2**63) % 2**64 - 2**63
