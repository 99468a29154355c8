"""The extender client: calls the verbs of a configured HTTP extender.

In: pods, nodes, candidates. Out: the extender's results in the types of `framework.extenders`, or
ExtenderError. The scheduling cycle acts on the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from bayplan.extender import gojson, wire
from bayplan.extender.breaker import Breaker, BreakerSettings
from bayplan.extender.endpoint import Endpoint
from bayplan.framework.extenders import ExtenderError, FilterResponse, VictimUids

if TYPE_CHECKING:
    from bayplan.config import types as config
    from bayplan.framework import Candidate, NodeTable
    from bayplan.model import Pod

T = TypeVar("T")


class ExtenderObserver(Protocol):
    """Notified of every request, for metrics."""

    def extender_called(self, extender: str, *, prioritizes: bool) -> None:
        """A request is sent, for scores or for another verb."""

    def extender_responded(
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
        """Raises AccessError if the configuration is invalid."""
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

    async def filter(self, pod: Pod, nodes: NodeTable) -> FilterResponse:
        verb = self._config.filter_verb
        return self.read_filter(await self._call(verb, self._args(pod, nodes), wire.ExtenderFilterResult))

    def read_filter(self, result: wire.ExtenderFilterResult) -> FilterResponse:
        if result.Error:
            raise ExtenderError(result.Error)
        failed, unresolvable = result.FailedNodes, result.FailedAndUnresolvableNodes
        if self._config.node_cache_capable and result.NodeNames is not None:
            return FilterResponse(result.NodeNames, (), failed, unresolvable)
        return FilterResponse(None, result.Nodes.items if result.Nodes is not None else (), failed, unresolvable)

    async def prioritize(self, pod: Pod, nodes: NodeTable) -> Sequence[tuple[str, int]]:
        result = await self._call(self._config.prioritize_verb, self._args(pod, nodes), wire.HostPriorityList)
        return [(each.Host, each.Score) for each in result]

    async def process_preemption(self, pod: Pod, candidates: Sequence[Candidate]) -> Mapping[str, VictimUids]:
        body = {"Pod": wire.pod_value(pod), "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if self._config.node_cache_capable:
            body["NodeNameToMetaVictims"] = {each.node_name: _meta_victims(each) for each in candidates}
        else:
            body["NodeNameToVictims"] = {each.node_name: _victims(each) for each in candidates}
        result = await self._call(self._config.preempt_verb, body, wire.ExtenderPreemptionResult)
        return {name: self.read_claim(name, victims) for name, victims in result.NodeNameToMetaVictims.items()}

    def read_claim(self, node_name: str, victims: wire.MetaVictims | None) -> VictimUids:
        if victims is None or None in victims.Pods:
            # kube-scheduler crashes on such a response.
            raise ExtenderError(f"extender {self.name} returned null victims for node {node_name} in preempt")
        uids = tuple(pod.UID for pod in victims.Pods if pod is not None)
        return VictimUids(uids, victims.NumPDBViolations)

    async def bind(self, pod: Pod, node_name: str) -> None:
        body = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name}
        result = await self._call(self._config.bind_verb, body, wire.ExtenderBindingResult, again=False)
        if result.Error:
            raise ExtenderError(result.Error)

    async def close(self) -> None:
        await self._endpoint.close()

    # --- requests ---------------------------------------------------------------------------------

    def _args(self, pod: Pod, nodes: NodeTable) -> Mapping[str, Any]:
        if self._config.node_cache_capable:
            return {"Pod": wire.pod_value(pod), "Nodes": None, "NodeNames": nodes.names.tolist()}
        sent = wire.nodes_value([node.node for node in nodes])
        return {"Pod": wire.pod_value(pod), "Nodes": sent, "NodeNames": None}

    async def _call(self, verb: str, body: Mapping[str, Any], kind: type[T], *, again: bool = True) -> T:
        if self._breaker is not None and (reason := self._breaker.why_not()):
            raise ExtenderError(f'extender "{self.name}": {reason}')
        start, failed, prioritizes = perf_counter(), True, kind is wire.HostPriorityList
        if self._observer is not None:
            self._observer.extender_called(self.name, prioritizes=prioritizes)
        try:
            result = gojson.decode(await self._endpoint.post(verb, msgspec.json.encode(body), again=again), kind)
            failed = False
            return result
        except gojson.GoJsonError as error:
            raise ExtenderError(str(error)) from None
        finally:
            if self._breaker is not None:
                self._breaker.record(responded=not failed)
            if self._observer is not None:
                seconds = perf_counter() - start
                self._observer.extender_responded(self.name, verb, seconds, failed=failed, prioritizes=prioritizes)


def make_extenders(
    extenders: Iterable[config.Extender],
    *,
    breaker: BreakerSettings | None = None,
    observer: ExtenderObserver | None = None,
) -> tuple[HttpExtender, ...]:
    """The extenders in calling order: ignorable ones come last, as in kube-scheduler."""
    made = [HttpExtender(each, breaker=breaker, observer=observer) for each in extenders]
    return tuple(sorted(made, key=lambda extender: extender.is_ignorable))


def _victims(candidate: Candidate) -> Mapping[str, Any]:
    pods = [wire.pod_value(pod) for pod in candidate.victims.pods]
    return {"Pods": pods, "NumPDBViolations": candidate.victims.n_violations}


def _meta_victims(candidate: Candidate) -> Mapping[str, Any]:
    pods = [{"UID": pod.uid} for pod in candidate.victims.pods]
    return {"Pods": pods, "NumPDBViolations": candidate.victims.n_violations}
