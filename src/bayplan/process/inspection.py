"""The endpoints of a running scheduler that answer questions about its pods: /explain/…

Everyone sees what the API server lets them read: of a namespace whose pods they may not read, nothing.

Requests arrive in the thread of the endpoints. What they ask about changes in the thread of the scheduler, so they
are answered there; only the question what a visitor may see goes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bayplan.explain.live_answers import LiveAnswers
from bayplan.explain.live_copy import LiveCopy
from bayplan.explain.suggestion_search import SuggestionSearch
from bayplan.explain.visibility import namespaces_in, redacted
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
    from bayplan.explain.explanation import Explanation, Suggestion
    from bayplan.framework import Clock, Registry
    from bayplan.model import Pod
    from bayplan.process.observability import SchedulerThread
    from bayplan.shell.service import SchedulerService

ROOT: Final = "/explain"
#: A question takes at most this long of the loop at a time, and then lets the scheduler go on for as long.
SLICE_SECONDS: Final = 0.002
MAX_SUGGESTIONS: Final = 20


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
        self._new_copy: Callable[[], LiveCopy] = lambda: LiveCopy(service.core, loaded, registry, clock)
        #: Made when somebody asks for suggestions for the first time.
        self._copy: LiveCopy | None = None
        self._lock = asyncio.Lock()

    def handlers(self) -> Mapping[str, Inspection]:
        handlers: dict[str, Inspection] = {
            f"{ROOT}/pod": self._pod,
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
        pod = self._service.core.pods.get(f"{namespace}/{name}")
        if pod is None:
            return status_response(404, "NotFound", f'pods "{name}" not found')
        explanation = self._answers.explain(pod)
        if int(wanted) and not pod.node_name:
            suggestions = await self._suggestions(pod, int(wanted))
            explanation = msgspec.structs.replace(explanation, suggestions=tuple(suggestions))
        explanation = await self._visible(explanation, visitor)
        return encoded_response(msgspec.json.encode(explanation))

    async def _suggestions(self, pod: Pod, n_wanted: int) -> list[Suggestion]:
        if pod.spec.scheduler_name not in self._service.core.profiles:
            return []
        async with self._lock:
            if self._copy is None:
                self._copy = self._new_copy()
            await _in_slices(self._copy.steps())
            search = SuggestionSearch(self._copy.scheduler, pod, n_wanted=n_wanted)
            await _in_slices(search.steps())
        return search.suggestions()

    @staticmethod
    async def _visible(explanation: Explanation, visitor: Visitor) -> Explanation:
        others = sorted(namespaces_in(explanation))
        if not others or await visitor.may("list", "pods"):
            return explanation
        hidden = [each for each in others if not await visitor.may("list", "pods", each)]
        return redacted(explanation, hidden)

    # --- what the scheduler has ---------------------------------------------------------------------------

    async def _queue(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        queue = self._service.core.queue
        pods = await _readable((info.pod for info in queue.waiting()), visitor)
        items = [{**_named(pod), **_fields(self._answers.queue_state(pod))} for pod in pods]
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
        items = [
            {
                "name": info.name,
                "pods": len(info.pods),
                "allocatable": {name: int(amount) for name, amount in info.allocatable.items()},
                "requested": {name: int(amount) for name, amount in info.requested.items()},
            }
            for info in self._service.core.cache.snapshot().nodes
        ]
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


async def _in_slices(steps: Iterator[None]) -> None:
    """Take all *steps*, and let everything else run in between."""
    start = perf_counter()
    for _ in steps:
        if perf_counter() - start > SLICE_SECONDS:
            await asyncio.sleep(SLICE_SECONDS)
            start = perf_counter()


def _one(request: EndpointRequest, name: str) -> str:
    values = request.query.get(name) or ("",)
    return values[0]


def _named(pod: Pod) -> dict[str, str]:
    return {"namespace": pod.namespace, "name": pod.name}


def _fields(value: object | None) -> dict[str, Any]:
    return {} if value is None else msgspec.to_builtins(value)
