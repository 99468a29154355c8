"""The extender client: asks a configured HTTP extender, verb by verb.

Comes in: pods, nodes, candidates. Goes out: what the extender said, as `framework.extenders` has it, or
ExtenderError. What follows from an answer is the cycle's business (`cycle.asking`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from bayplan.extender import gojson, wire
from bayplan.extender.breaker import Breaker, BreakerSettings
from bayplan.extender.endpoint import Endpoint
from bayplan.framework.extenders import Claim, ExtenderError, Filtered

if TYPE_CHECKING:
    from bayplan.config import types as config
    from bayplan.framework import Candidate, NodeTable
    from bayplan.model import Pod

T = TypeVar("T")


class ExtenderObserver(Protocol):
    """Told about every request: metrics hang on this."""

    def extender_asked(self, extender: str, *, prioritizes: bool) -> None:
        """A request is on its way, of the verb for scores or of another."""

    def extender_answered(
        self, extender: str, verb: str, seconds: float, *, failed: bool, prioritizes: bool
    ) -> None: ...


class HttpExtender:
    """Implements `framework.extenders.Extender`."""

    def __init__(
        self,
        extender: config.Extender,
        *,
        breaker: BreakerSettings | None = None,
        observer: ExtenderObserver | None = None,
        now: Callable[[], float] = perf_counter,
    ) -> None:
        """Raises AccessError where the configuration cannot work."""
        self._config = extender
        self._endpoint = Endpoint(extender)
        self._managed = frozenset(resource.name for resource in extender.managed_resources)
        self._breaker = Breaker(breaker, now) if breaker is not None else None
        self._observer = observer
        self.name = extender.url_prefix
        self.weight = extender.weight
        self.is_ignorable = extender.ignorable
        self.is_filter = bool(extender.filter_verb)
        self.is_prioritizer = bool(extender.prioritize_verb)
        self.is_preemptor = bool(extender.preempt_verb)
        self.is_binder = bool(extender.bind_verb)

    def is_interested(self, pod: Pod) -> bool:
        if not self._managed:
            return True
        containers = (*pod.spec.containers, *pod.spec.init_containers)
        return any(
            not self._managed.isdisjoint(each.resources.requests)
            or not self._managed.isdisjoint(each.resources.limits)
            for each in containers
        )

    # --- verbs ------------------------------------------------------------------------------------

    async def filter(self, pod: Pod, nodes: NodeTable) -> Filtered:
        verb = self._config.filter_verb
        return self.read_filter(await self._ask(verb, self._args(pod, nodes), wire.ExtenderFilterResult))

    def read_filter(self, answer: wire.ExtenderFilterResult) -> Filtered:
        if answer.Error:
            raise ExtenderError(answer.Error)
        failed, unresolvable = answer.FailedNodes, answer.FailedAndUnresolvableNodes
        if self._config.node_cache_capable and answer.NodeNames is not None:
            return Filtered(answer.NodeNames, (), failed, unresolvable)
        return Filtered(None, answer.Nodes.items if answer.Nodes is not None else (), failed, unresolvable)

    async def prioritize(self, pod: Pod, nodes: NodeTable) -> Sequence[tuple[str, int]]:
        answer = await self._ask(self._config.prioritize_verb, self._args(pod, nodes), wire.HostPriorityList)
        return [(each.Host, each.Score) for each in answer]

    async def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, Claim]:
        body = {"Pod": wire.pod_value(pod), "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if self._config.node_cache_capable:
            body["NodeNameToMetaVictims"] = {each.node_name: _meta_victims(each) for each in candidates}
        else:
            body["NodeNameToVictims"] = {each.node_name: _victims(each) for each in candidates}
        answer = await self._ask(self._config.preempt_verb, body, wire.ExtenderPreemptionResult)
        return {name: self.read_claim(name, victims) for name, victims in answer.NodeNameToMetaVictims.items()}

    def read_claim(self, node_name: str, victims: wire.MetaVictims | None) -> Claim:
        if victims is None or None in victims.Pods:
            # kube-scheduler does not survive such an answer.
            raise ExtenderError(f"extender {self.name} answered preempt with null victims on node {node_name}")
        uids = tuple(pod.UID for pod in victims.Pods if pod is not None)
        return Claim(uids, victims.NumPDBViolations)

    async def bind(self, pod: Pod, node_name: str) -> None:
        body = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
        answer = await self._ask(self._config.bind_verb, body, wire.ExtenderBindingResult, again=False)
        if answer.Error:
            raise ExtenderError(answer.Error)

    async def close(self) -> None:
        await self._endpoint.close()

    # --- requests ---------------------------------------------------------------------------------

    def _args(self, pod: Pod, nodes: NodeTable) -> Mapping[str, Any]:
        if self._config.node_cache_capable:
            return {"Pod": wire.pod_value(pod), "Nodes": None, "NodeNames": nodes.names.tolist()}
        sent = wire.nodes_value([node.node for node in nodes])
        return {"Pod": wire.pod_value(pod), "Nodes": sent, "NodeNames": None}

    async def _ask(self, verb: str, body: Mapping[str, Any], kind: type[T], *, again: bool = True) -> T:
        if self._breaker is not None and (reason := self._breaker.why_not()):
            raise ExtenderError(f'extender "{self.name}": {reason}')
        start, failed, prioritizes = perf_counter(), True, kind is wire.HostPriorityList
        if self._observer is not None:
            self._observer.extender_asked(self.name, prioritizes=prioritizes)
        try:
            answer = gojson.decode(await self._endpoint.post(verb, msgspec.json.encode(body), again=again), kind)
            failed = False
            return answer
        except gojson.GoJsonError as error:
            raise ExtenderError(str(error)) from None
        finally:
            if self._breaker is not None:
                self._breaker.note(answered=not failed)
            if self._observer is not None:
                seconds = perf_counter() - start
                self._observer.extender_answered(self.name, verb, seconds, failed=failed, prioritizes=prioritizes)


def make_extenders(
    extenders: Iterable[config.Extender],
    *,
    breaker: BreakerSettings | None = None,
    observer: ExtenderObserver | None = None,
) -> tuple[HttpExtender, ...]:
    """In the order of asking: those whose failures are ignored come last, as in kube-scheduler."""
    made = [HttpExtender(each, breaker=breaker, observer=observer) for each in extenders]
    return tuple(sorted(made, key=lambda extender: extender.is_ignorable))


def _victims(candidate: Candidate) -> Mapping[str, Any]:
    pods = [wire.pod_value(pod) for pod in candidate.victims.pods]
    return {"Pods": pods, "NumPDBViolations": candidate.victims.n_violations}


def _meta_victims(candidate: Candidate) -> Mapping[str, Any]:
    pods = [{"UID": pod.uid} for pod in candidate.victims.pods]
    return {"Pods": pods, "NumPDBViolations": candidate.victims.n_violations}
