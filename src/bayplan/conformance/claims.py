"""Verifies recorded decisions about pods with resource claims or extended resources that devices provide.

Like decisions, and besides: the same pods are held back before they are tried; Reserve and PreBind, carried out on
the recorded node, leave every claim with the recorded allocation and the recorded consumers; the messages of
earlier attempts are the same too. The replay always continues with the recorded outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

import msgspec
import numpy as np

from bayplan.conformance import Context
from bayplan.conformance.decisions import outcome_of, verify_node, verify_preemption, verify_unschedulable
from bayplan.conformance.recorded_claims import RecordedClaims, compared
from bayplan.conformance.recorded_cluster import RecordedCluster
from bayplan.conformance.report import Difference, compare
from bayplan.core import Decision
from bayplan.core.decision import condition_reason
from bayplan.core.messages import Instruction, StartWork
from bayplan.framework import Client, CycleState, Status
from bayplan.model import Pod, PodResourceClaimStatus, ResourceClaim

#: Part of the message of an attempt that made room for the next one.
DEALLOCATED: Final = "deallocation of ResourceClaim completed"
MAX_RETRIES: Final = 5


def verify(line: dict[str, Any], context: Context) -> Iterator[tuple[str, list[Difference]]]:
    """One step per pending pod."""
    scenario = _Scenario(line, context)
    for number, step in enumerate(line["steps"]):
        label = "held" if "held" in step else outcome_of(step)
        yield f"step {number} ({label})", list(scenario.verify_step(step))
        scenario.go_on(step)


class _Scenario:
    def __init__(self, line: dict[str, Any], context: Context) -> None:
        self._claims = RecordedClaims()
        self._cluster = RecordedCluster(line, context.catalogue, client=cast("Client", self._claims))
        self._claims.core = self._cluster.core

    def verify_step(self, step: dict[str, Any]) -> Iterator[Difference]:
        pod = self._prepared(step)
        gate = self._cluster.profile(pod).plugins.pre_enqueue(pod)
        if "held" in step or gate is not None:
            if ("held" in step) == (gate is None):
                yield Difference("outcome", outcome_of(step), f"held: {gate}")
            return
        if "preemption" in step:
            self._cluster.arrange(step["preemption"]["nominated"], step["preemption"]["victims"])
        state = CycleState()
        decision = self._decide(pod, state)
        if "preemption" in step:
            yield from verify_preemption(decision, step["preemption"])
            pod = self._preempt(pod, step["preemption"])
            decision = self._decide(pod, state := CycleState())
        else:
            messages: list[str] = []
            while not decision.node_name and len(messages) < MAX_RETRIES and DEALLOCATED in decision.message:
                messages.append(decision.message)
                decision = self._decide(pod, state := CycleState())
            # The recorder may have missed a message that was soon followed by the next attempt.
            seen = step.get("messages_before", [])
            yield from compare(seen, [message for message in messages if message in seen], "messages before")
        yield from self._verify_outcome(step, pod, state, decision)

    def _prepared(self, step: dict[str, Any]) -> Pod:
        """The pod as it is when the claim controller has seen it."""
        pod = Pod.from_dict(step["pod"])
        recorded = step.get("resourceClaimStatuses", ())
        self._claims.make_for(pod, recorded)
        statuses = tuple(msgspec.convert(each, PodResourceClaimStatus) for each in recorded)
        return msgspec.structs.replace(
            pod, status=msgspec.structs.replace(pod.status, resource_claim_statuses=statuses)
        )

    def _decide(self, pod: Pod, state: CycleState) -> Decision:
        decision = self._cluster.decide(pod, state)
        self._carry_out(self._cluster.core.take_instructions())
        return decision

    def _carry_out(self, instructions: Sequence[Instruction]) -> None:
        for instruction in instructions:
            if isinstance(instruction, StartWork):
                run(instruction.work())

    def _preempt(self, pod: Pod, recorded: dict[str, Any]) -> Pod:
        self._claims.release(self._cluster.evict(recorded["victims"]))
        return self._cluster.nominate(pod, recorded["nominated"])

    def _verify_outcome(
        self, step: dict[str, Any], pod: Pod, state: CycleState, decision: Decision
    ) -> Iterator[Difference]:
        if "node" in step:
            yield from verify_node(decision, step, has_scorers=True)
            status = self._bind(pod, state, step["node"])
            if not status.is_success:
                yield Difference("outcome", f"node {step['node']}", status.message)
            yield from self._verify_claims(step, pod)
            self._cluster.place(pod, step["node"], step.get("start_time"))
        elif decision.node_name:
            status = self._bind(pod, state, decision.node_name)
            self._cluster.profile(pod).runner.unreserve(state, pod, decision.node_name)
            self._carry_out(self._cluster.core.take_instructions())
            yield from compare(step["reason"], condition_reason(status), "reason")
            yield from compare(step["unschedulable"], status.message, "message")
        elif step["unschedulable"] not in self._failures(pod, state, decision):
            yield from verify_unschedulable(decision, step)

    def _failures(self, pod: Pod, state: CycleState, decision: Decision) -> set[str]:
        """The errors of all nodes, if Filter failed; which of them ends the attempt is chance."""
        if decision.diagnosis is not None:
            return set()
        nodes, evaluation = self._cluster.core.cache.snapshot().nodes, self._cluster.profile(pod).evaluation
        outcomes = (
            evaluation.filter(state, pod, nodes.select(np.array([position]))) for position in range(len(nodes))
        )
        return {outcome.error.message for outcome in outcomes if outcome.error is not None}

    def _bind(self, pod: Pod, state: CycleState, node_name: str) -> Status:
        """Reserve and PreBind."""
        profile = self._cluster.profile(pod)
        status = profile.runner.reserve(state, pod, node_name)
        if not status.is_success:
            return status
        plan = profile.binding.plan(state, pod, node_name)
        if isinstance(plan, Status):
            return plan
        bound: Status = run(profile.binding.pre_bind(plan, state, pod, node_name, _one_by_one))
        return bound

    def _verify_claims(self, step: dict[str, Any], pod: Pod) -> Iterator[Difference]:
        recorded = dict(compared(ResourceClaim.from_dict(each) for each in step["claims_after"]))
        yield from compare(recorded, dict(compared(self._claims.all())), "claims")
        status = step.get("extendedResourceClaimStatus", {})
        ours = self._claims.pod_statuses.get(pod.name, {}).get("extendedResourceClaimStatus", {})
        yield from compare(status.get("requestMappings"), ours.get("requestMappings"), "requestMappings")

    def go_on(self, step: dict[str, Any]) -> None:
        """Continue with the recorded claims; a pod that was not placed is gone, and so are its claims."""
        self._claims.replace(step["claims_after"])
        if "node" not in step:
            self._claims.release([step["pod"]["metadata"]["uid"]])


async def _one_by_one(running: Sequence[Any]) -> Status:
    """Plugins that could run at the same time, one after another."""
    statuses = [await each for each in running]
    return next((status for status in statuses if not status.is_success), Status.success())


def run(coroutine: Any) -> Any:
    """The result of a coroutine that has nothing to wait for: every request is answered at once."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    coroutine.close()
    raise RuntimeError("a recorded claim was waited for")
