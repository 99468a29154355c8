"""Asking extenders, for one attempt: in which order, what follows from each answer, and from a failure.

Comes in: nodes that passed, candidates of preemption. Goes out: what is left of them. Everything that was said is
noted in the attempt's record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import MAX_SCORE, Candidate, Code, Diagnosis, IntArray, NodeTable, Status, Victims
from bayplan.framework.candidates import Consulted, candidate_of, none_needed
from bayplan.framework.extenders import MAX_EXTENDER_SCORE, Claim, Extender, ExtenderError, Filtered
from bayplan.model import ObjectError, Pod
from bayplan.observe import klog
from bayplan.observe.record import ExtenderAnswer, Record

if TYPE_CHECKING:
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.framework import Clock

log = klog.get_logger("bayplan.cycle")

#: Extenders score up to 10, nodes up to 100.
SCALE: Final = MAX_SCORE // MAX_EXTENDER_SCORE


class Asking:
    """The extenders that are interested in one pod."""

    def __init__(
        self, extenders: Iterable[Extender], pod: Pod, snapshot: CacheSnapshot, clock: Clock, record: Record
    ) -> None:
        self.pod = pod
        self.record = record
        self._extenders = [extender for extender in extenders if extender.is_interested(pod)]
        self._snapshot = snapshot
        self._clock = clock

    # --- filter -----------------------------------------------------------------------------------

    async def filter(self, nodes: NodeTable, diagnosis: Diagnosis) -> NodeTable:
        """What one extender after the other leaves of *nodes*; their reasons go into *diagnosis*."""
        for extender in self._extenders:
            if not extender.is_filter:
                continue
            if not len(nodes):
                break
            start = perf_counter()
            try:
                answer = await extender.filter(self.pod, nodes)
                nodes = self._left(extender, answer, nodes)
            except ExtenderError as error:
                if self._is_passed_over(extender, "filter", start, error):
                    continue
                raise
            for node_name, reason in answer.failed.items():
                diagnosis.set_status(node_name, Status.unschedulable(reason))
            for node_name, reason in answer.unresolvable.items():
                diagnosis.set_status(node_name, Status.unresolvable(reason))
            failed = {**answer.failed, **answer.unresolvable}
            self._note(extender, "filter", start, failed=failed, n_left=len(nodes))
        return nodes

    def _left(self, extender: Extender, answer: Filtered, nodes: NodeTable) -> NodeTable:
        if answer.names is None:
            if not all(node.name for node in answer.nodes):
                raise ExtenderError(f'extender "{extender.name}" claims a filtered node that has no name')
            try:
                return self._snapshot.returned(answer.nodes)
            except ObjectError as error:
                raise ExtenderError(str(error)) from None
        positions: dict[int, None] = {}
        for name in answer.names:
            position = nodes.position(name)
            if position is None:
                raise ExtenderError(
                    f'extender "{extender.name}" claims a filtered node "{name}" '
                    "which is not found in the input node list"
                )
            positions[position] = None
        return nodes.select(np.array(list(positions), dtype=np.int64))

    # --- prioritize -------------------------------------------------------------------------------

    async def prioritize(self, nodes: NodeTable) -> IntArray:
        """What the extenders' scores add to each node's total. One that fails adds nothing."""
        asked = [extender for extender in self._extenders if extender.is_prioritizer]
        added = [0] * len(nodes)
        for scores in await asyncio.gather(*(self._prioritize_one(extender, nodes) for extender in asked)):
            for name, score in scores.items():
                position = nodes.position(name)
                if position is not None:
                    added[position] += score
        return np.array([wrapped_int64(each) for each in added], dtype=np.int64)

    async def _prioritize_one(self, extender: Extender, nodes: NodeTable) -> Mapping[str, int]:
        start = perf_counter()
        try:
            answer = await extender.prioritize(self.pod, nodes)
        except ExtenderError as error:
            self._note(extender, "prioritize", start, error=str(error), ignored=True)
            log.info(
                "Failed to run extender's priority function. No score given by this extender.",
                v=5,
                error=str(error),
                pod=self.pod,
                extender=extender.name,
            )
            return {}
        scores: dict[str, int] = {}
        for name, score in answer:
            scores[name] = scores.get(name, 0) + score * extender.weight * SCALE
        self._note(extender, "prioritize", start, scores=scores, n_left=len(scores))
        return scores

    # --- preempt ----------------------------------------------------------------------------------

    async def process_preemption(self, candidates: Sequence[Candidate]) -> Consulted | None:
        """What the extenders leave of the candidates; None if none of them has a say."""
        asked = [extender for extender in self._extenders if extender.is_preemptor]
        for extender in asked:
            start = perf_counter()
            try:
                claims = await extender.process_preemption(self.pod, candidates)
                candidates = self._claimed(extender, claims)
            except ExtenderError as error:
                if self._is_passed_over(extender, "preempt", start, error):
                    continue
                return Consulted((), Status(Code.ERROR, (str(error),)))
            self._note(extender, "preempt", start, n_left=len(candidates))
            if not candidates:
                break
        return Consulted(candidates) if asked else None

    def _claimed(self, extender: Extender, claims: Mapping[str, Claim]) -> Sequence[Candidate]:
        found = {name: self._victims(extender, name, claim) for name, claim in claims.items()}
        candidates = []
        now = datetime.fromtimestamp(self._clock.now(), UTC)
        for name, victims in found.items():
            if victims.pods:
                candidates.append(candidate_of(name, victims, now))
            elif not extender.is_ignorable:
                raise ExtenderError(none_needed(name).message)
        return candidates

    def _victims(self, extender: Extender, node_name: str, claim: Claim) -> Victims:
        node = self._snapshot.node(node_name)
        if node is None:
            raise ExtenderError(f'nodeinfo not found for node name "{node_name}"')
        there = {pod.uid: pod for pod in node.pods}
        for uid in claim.uids:
            if uid not in there:
                raise ExtenderError(
                    f"extender: {extender.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}, "
                    "but the pod is not found on that node"
                )
        return Victims(tuple(there[uid] for uid in claim.uids), claim.n_violations)

    # ----------------------------------------------------------------------------------------------

    def _is_passed_over(self, extender: Extender, verb: str, start: float, error: ExtenderError) -> bool:
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
        self.record.extenders.append(
            ExtenderAnswer(extender.name, verb, seconds, error, ignored, failed or {}, scores or {}, n_left)
        )


async def bind_by_extender(extenders: Iterable[Extender], pod: Pod, node_name: str) -> Status | None:
    """The first extender that binds, and is interested, does it; None if it is for the plugins to do."""
    for extender in extenders:
        if not (extender.is_binder and extender.is_interested(pod)):
            continue
        try:
            await extender.bind(pod, node_name)
        except ExtenderError as error:
            if not extender.is_ignorable:
                return Status.failed(str(error))
            message = "Skipping extender in bind as it returned error and has ignorable flag set"
            log.info(message, extender=extender.name, err=str(error))
            continue
        return Status.success()
    return None


def wrapped_int64(number: int) -> int:
    """As Go's int64 goes round."""
    return (number + 2**63) % 2**64 - 2**63
