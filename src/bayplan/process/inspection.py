"""The endpoints of a running scheduler that answer questions about its pods: /explain/…

Everyone sees what the API server lets them read: of a namespace whose pods they may not read, nothing.

Requests arrive in the thread of the endpoints. What they ask about changes in the thread of the scheduler, so they
are answered there; only the question what a visitor may see goes back. What-ifs are tried on a copy, one question
at a time, beside the scheduler's thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from bayplan.explain.live_answers import LiveAnswers
from bayplan.explain.live_copy import LiveCopy
from bayplan.explain.pending_pods import PendingPods
from bayplan.explain.suggestion_search import SuggestionSearch
from bayplan.explain.visibility import Hidden, namespaces_in, redacted, redacted_report, suggestions_in
from bayplan.process.pace import Pace
from bayplan.server.http_endpoints import (
    EndpointRequest,
    Inspection,
    Visitor,
    encoded_response,
    json_response,
    status_response,
)

if TYPE_CHECKING:
    from aiohttp import web

    from bayplan.config import Loaded
    from bayplan.explain.explanation import Explanation, PendingReport
    from bayplan.explain.what_if_scheduler import WhatIfScheduler
    from bayplan.framework import Clock, Registry
    from bayplan.model import Pod
    from bayplan.process.observability import SchedulerThread
    from bayplan.shell.service import SchedulerService

T = TypeVar("T")

ROOT: Final = "/explain"
#: As many as `bayplan explain --suggestions` takes.
MAX_SUGGESTIONS: Final = 50
#: How many items of a list are made at a time.
_PER_STEP: Final = 50


class Inspections:
    """The handlers, by path."""

    def __init__(
        self,
        service: SchedulerService,
        loaded: Loaded,
        registry: Registry,
        clock: Clock,
        thread: SchedulerThread | None = None,
    ) -> None:
        """*thread* is that of the scheduler; None if requests arrive in it."""
        self._service = service
        self._thread = thread
        self._answers = LiveAnswers(service.core, service.records)
        self._pace = Pace(lambda: service.core.queue.has_ready)
        self._new_copy: Callable[[], LiveCopy] = lambda: LiveCopy(
            service.core, loaded, registry, clock, breathe=self._pace.breathe
        )
        #: Made when somebody asks for what-ifs for the first time.
        self._copy: LiveCopy | None = None
        #: Held by the question that uses the copy.
        self._lock = asyncio.Lock()

    def handlers(self) -> Mapping[str, Inspection]:
        handlers: dict[str, Inspection] = {
            f"{ROOT}/pod": self._pod,
            f"{ROOT}/pending": self._pending,
            f"{ROOT}/queue": self._queue,
            f"{ROOT}/nominations": self._nominations,
            f"{ROOT}/waiting": self._waiting,
            f"{ROOT}/nodes": self._nodes,
        }
        thread = self._thread
        if thread is None:
            return handlers
        return {path: _answered_in(thread, handler) for path, handler in handlers.items()}

    # --- one pod ------------------------------------------------------------------------------------------

    async def _pod(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        namespace, name = _one(request, "namespace") or "default", _one(request, "name")
        if not name:
            return status_response(400, "BadRequest", "name a pod: /explain/pod?namespace=default&name=web-0")
        wanted = _one(request, "suggestions") or "0"
        if not wanted.isdigit() or int(wanted) > MAX_SUGGESTIONS:
            return status_response(400, "BadRequest", f"suggestions must be a number up to {MAX_SUGGESTIONS}")
        if not await visitor.may("get", "pods", namespace):
            return status_response(403, "Forbidden", f'you may not get pods in the namespace "{namespace}"')
        core, node = self._service.core, _one(request, "node")
        pod = core.pods.get(f"{namespace}/{name}")
        if pod is None:
            return status_response(404, "NotFound", f'pods "{name}" not found')
        if node and core.cache.snapshot().node(node) is None:
            return status_response(404, "NotFound", f'nodes "{node}" not found')
        explanation = self._answers.explain(pod, node=node)
        if int(wanted) and not pod.node_name and pod.spec.scheduler_name in core.profiles:
            found = await self._ask_copy(
                lambda scheduler: SuggestionSearch(scheduler, pod, n_wanted=int(wanted)).run()
            )
            explanation = msgspec.structs.replace(explanation, suggestions=tuple(found))
        hidden = await _hidden(explanation, namespace, visitor)
        return encoded_response(msgspec.json.encode(redacted(explanation, hidden)))

    async def _ask_copy(self, question: Callable[[WhatIfScheduler], T]) -> T:
        """The answer of a copy of the scheduler as it is now; one question at a time."""
        async with self._lock:
            if self._copy is None:
                self._copy = self._new_copy()
            await self._pace.in_slices(self._copy.steps())
            scheduler = self._copy.scheduler
            return await self._pace.aside(lambda: question(scheduler))

    # --- all that wait ------------------------------------------------------------------------------------

    async def _pending(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        namespace = _one(request, "namespace")
        if not await visitor.may("list", "pods", namespace):
            where = f'in the namespace "{namespace}"' if namespace else "in all namespaces; name one"
            return status_response(403, "Forbidden", f"you may not list pods {where}")
        source = self._answers.source()
        report = await self._ask_copy(lambda scheduler: PendingPods(scheduler, source).report(namespace or None))
        hidden = await _hidden(report, namespace, visitor)
        return encoded_response(msgspec.json.encode(redacted_report(report, hidden)))

    # --- what the scheduler has ---------------------------------------------------------------------------

    async def _queue(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        queue = self._service.core.queue
        pods = await _readable((info.pod for info in queue.waiting()), visitor)
        items: list[dict[str, Any]] = []
        steps = ({**_named(pod), **_fields(self._answers.queue_state(pod))} for pod in pods)
        await self._pace.in_slices(_collecting(steps, items))
        return json_response({"counts": queue.counts()._asdict(), "pods": items})

    async def _nominations(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        by_node = self._service.core.nominator.by_node
        pods = await _readable((pod for pods in by_node.values() for pod in pods.values()), visitor)
        node_of = self._service.core.nominator.node_of
        return json_response({"pods": [{**_named(pod), "node": node_of(pod)} for pod in pods]})

    async def _waiting(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        waiting = {each.pod.uid: each for each in self._service.core.waiting_pods.by_uid.values()}
        pods = await _readable((each.pod for each in waiting.values()), visitor)
        items = [
            {
                **_named(pod),
                "node": waiting[pod.uid].assumed.node_name,
                "plugins": list(waiting[pod.uid].pending_plugins),
            }
            for pod in pods
        ]
        return json_response({"pods": items})

    async def _nodes(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        if not await visitor.may("list", "nodes"):
            return status_response(403, "Forbidden", "you may not list nodes")
        items: list[dict[str, Any]] = []
        cache = self._service.core.cache
        names = cache.snapshot().nodes.names.tolist()
        # The nodes may change between two slices, so each is looked up when it is its turn.
        found = (info for name in names if (info := cache.snapshot().node(name)) is not None)
        steps = (
            {
                "name": info.name,
                "pods": len(info.pods),
                "allocatable": {name: int(amount) for name, amount in info.allocatable.items()},
                "requested": {name: int(amount) for name, amount in info.requested.items()},
            }
            for info in found
        )
        await self._pace.in_slices(_collecting(steps, items))
        return json_response({"nodes": items})


def _answered_in(thread: SchedulerThread, handler: Inspection) -> Inspection:
    async def answer(request: EndpointRequest, visitor: Visitor) -> web.Response:
        if thread.is_held_up:
            return status_response(
                503, "ServiceUnavailable", "a plugin holds up the scheduler; its log says which"
            )
        visitor = _VisitorElsewhere(visitor, asyncio.get_running_loop())
        return await thread.run(_respond(handler, request, visitor))

    return answer


async def _respond(handler: Inspection, request: EndpointRequest, visitor: Visitor) -> web.Response:
    return await handler(request, visitor)


class _VisitorElsewhere:
    """A visitor whose rights are looked up in the loop that the request came from."""

    def __init__(self, visitor: Visitor, loop: asyncio.AbstractEventLoop) -> None:
        self._visitor = visitor
        self._loop = loop

    async def may(self, verb: str, resource: str, namespace: str = "") -> bool:
        asked = asyncio.run_coroutine_threadsafe(self._visitor.may(verb, resource, namespace), self._loop)
        return await asyncio.wrap_future(asked)


async def _readable(pods: Iterable[Pod], visitor: Visitor) -> list[Pod]:
    """Those of *pods* that the visitor may list."""
    found = list(pods)
    if await visitor.may("list", "pods"):
        return found
    namespaces = {pod.namespace for pod in found}
    allowed = {each for each in sorted(namespaces) if await visitor.may("list", "pods", each)}
    return [pod for pod in found if pod.namespace in allowed]


async def _hidden(answer: Explanation | PendingReport, own: str, visitor: Visitor) -> Hidden:
    """What of *answer*, which is about pods of the namespace *own*, the visitor may not see."""
    others = sorted(namespaces_in(answer) - {own})
    if others and await visitor.may("list", "pods"):
        others = []
    namespaces = [each for each in others if not await visitor.may("list", "pods", each)]
    hides_nodes = bool(suggestions_in(answer)) and not await visitor.may("list", "nodes")
    return Hidden(frozenset(namespaces), nodes=hides_nodes)


def _collecting(values: Iterable[T], into: list[T]) -> Iterator[None]:
    for number, value in enumerate(values):
        into.append(value)
        if number % _PER_STEP == 0:
            yield


def _one(request: EndpointRequest, name: str) -> str:
    values = request.query.get(name) or ("",)
    return values[0]


def _named(pod: Pod) -> dict[str, str]:
    return {"namespace": pod.namespace, "name": pod.name}


def _fields(value: object | None) -> dict[str, Any]:
    return {} if value is None else msgspec.to_builtins(value)
