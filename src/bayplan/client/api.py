"""KubeClient: what the scheduler says to the API server. Implements `framework.Client`."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import msgspec

from bayplan.client.backoff import Random
from bayplan.client.binding import Binder
from bayplan.client.calls import Calls
from bayplan.client.errors import ApiError, ConflictError, NotFoundError, NotLeadingError
from bayplan.client.pod_status import status_patch
from bayplan.client.ratelimit import TokenBucket
from bayplan.client.transport import JSON, MERGE_PATCH, STRATEGIC_PATCH, Query, Transport
from bayplan.client.turns import Turns
from bayplan.framework import Clock
from bayplan.model import Condition, Pod

EVENTS = "/apis/events.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1"


class KubeClient:
    """Calls within the rate limit, tried again by cause. A 404 or 409 raises NotFoundError or ConflictError."""

    def __init__(
        self,
        transport: Transport,
        clock: Clock,
        *,
        qps: float = 0.0,
        burst: int = 0,
        may_bind: Callable[[], bool] | None = None,
        rng: Random = random.random,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._limiter = TokenBucket(qps, burst, clock)
        self._calls = Calls(transport, clock, self._limiter, rng=rng)
        self._may_bind = may_bind
        #: Asked right before anything is written to the cluster, events aside.
        self._guard = self._check_leading if may_bind is not None else None
        #: A pod that was found unschedulable may be bound at once: the condition must not come in after the bind.
        self._turns = Turns()
        self._binder = Binder(self._calls, self._turns, self._guard)

    def _check_leading(self) -> None:
        if self._may_bind is not None and not self._may_bind():
            raise NotLeadingError("no longer the leader: nothing was written")

    # --- anything -----------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Query | None = None,
        content_type: str | None = None,
        repeatable: bool | None = None,
    ) -> dict[str, Any]:
        """Any request. A PATCH is a merge patch unless *content_type* says otherwise.

        *repeatable*: whether it may be sent again when it is unknown what became of it; a GET may.
        """
        if content_type is None:
            content_type = MERGE_PATCH if method == "PATCH" else JSON
        safe = method == "GET" if repeatable is None else repeatable
        answer = await self._calls.call(
            method,
            path,
            body,
            query=query,
            content_type=content_type,
            repeatable=safe,
            before_send=None if method == "GET" else self._guard,
        )
        return _decoded(answer)

    async def get_bytes(self, path: str, query: Query | None = None) -> bytes:
        """One GET, not tried again: a reflector has its own backoff."""
        return await self._calls.once("GET", path, query=query)

    def stream(self, path: str, query: Query | None = None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose answer goes on and on."""
        return self._stream(path, query)

    @asynccontextmanager
    async def _stream(self, path: str, query: Query | None) -> AsyncIterator[AsyncIterator[bytes]]:
        await self._limiter.acquire()
        async with self._transport.stream(path, query) as body:
            yield body

    async def close(self) -> None:
        await self._transport.close()

    # --- pods ---------------------------------------------------------------------------------------------

    def bind(self, pod: Pod, node_name: str) -> Coroutine[Any, Any, None]:
        """Bind *pod* to *node_name*; ends when it is known to be bound there."""
        return self._binder.bind(pod, node_name)

    async def patch_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        """Set a condition and the nomination ("" withdraws it); False if the status says so already.

        Raises NotFoundError if the pod is gone, or another one of the same name by now.
        """
        patch = status_patch(
            pod, condition=condition, nominated_node_name=nominated_node_name, now=self._clock.now()
        )
        if patch is None:
            return False
        path = f"{_pod_path(pod)}/status"
        try:
            async with self._turns.turn(pod.uid):
                await self._calls.call(
                    "PATCH",
                    path,
                    patch,
                    content_type=STRATEGIC_PATCH,
                    repeatable=True,
                    before_send=self._guard,
                )
        except ApiError as error:
            if error.status == 422 and "metadata.uid" in error.message:
                raise NotFoundError(404, reason="NotFound", message=f'pods "{pod.name}" not found') from error
            raise
        return True

    async def delete_pod(self, pod: Pod, *, grace_period_seconds: int | None = None) -> bool:
        """Delete exactly this pod; False if it is gone, or another one of the same name by now."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if pod.uid:
            options["preconditions"] = {"uid": pod.uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        try:
            await self._calls.call("DELETE", _pod_path(pod), options, repeatable=True, before_send=self._guard)
        except (NotFoundError, ConflictError):
            return False
        return True

    # --- events -------------------------------------------------------------------------------------------

    def create_event(self, namespace: str, event: object) -> Coroutine[Any, Any, bool]:
        """False if it is there already. Names of events are unique: then it is this one, sent before."""
        return self._create_once(f"{EVENTS}/namespaces/{namespace}/events", event)

    async def create_core_event(self, namespace: str, event: object) -> None:
        """An event of the old API, in which leader election is still told."""
        await self._create_once(f"/api/v1/namespaces/{namespace}/events", event)

    async def patch_event(self, namespace: str, name: str, patch: object) -> None:
        path = f"{EVENTS}/namespaces/{namespace}/events/{name}"
        await self._calls.call("PATCH", path, patch, content_type=STRATEGIC_PATCH, repeatable=True)

    async def _create_once(self, path: str, event: object) -> bool:
        try:
            await self._calls.call("POST", path, event, repeatable=True)
        except ConflictError as conflict:
            if not conflict.already_exists:
                raise
            return False
        return True

    # --- leases: once each, the election has its own rhythm -------------------------------------------------

    async def get_lease(self, namespace: str, name: str) -> dict[str, Any]:
        return _decoded(await self._calls.once("GET", f"{LEASES}/namespaces/{namespace}/leases/{name}"))

    async def create_lease(self, namespace: str, lease: object) -> dict[str, Any]:
        return _decoded(await self._calls.once("POST", f"{LEASES}/namespaces/{namespace}/leases", lease))

    async def update_lease(self, namespace: str, name: str, lease: object) -> dict[str, Any]:
        return _decoded(await self._calls.once("PUT", f"{LEASES}/namespaces/{namespace}/leases/{name}", lease))


def _pod_path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _decoded(answer: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(answer, type=dict[str, Any]) if answer else {}
    return decoded
