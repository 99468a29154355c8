"""KubeClient: the scheduler's requests to the API server, rate-limited and retried. Implements `framework.Client`.

A bind is the one request whose result must be certain. If it is unknown (the connection was cut, the server
answered 5xx), the pod is read before anything else happens: it is bound to the node (done), not bound (bind
again), or bound to another node (a conflict, as if the server had said so).
"""

from __future__ import annotations

import logging
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.client.errors import (
    ApiError,
    ClientError,
    ConflictError,
    NotFoundError,
    NotLeadingError,
    TransportError,
)
from bayplan.client.flow_control import KeyedLock, Random, Retries, TokenBucket, is_throttled
from bayplan.client.pod_status_patch import status_patch
from bayplan.client.transport import JSON, MERGE_PATCH, STRATEGIC_PATCH, Query, Transport
from bayplan.client.typed_requests import TypedRequests
from bayplan.model import Condition, Pod
from bayplan.model.wire_format import PROTOBUF

if TYPE_CHECKING:
    from bayplan.framework import Clock

EVENTS = "/apis/events.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1"

logger = logging.getLogger("bayplan.client")


class KubeClient(TypedRequests):
    """Raises NotFoundError for a 404, ConflictError for a 409, other ClientErrors if retries have not helped."""

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
        self._rng = rng
        self._limiter = TokenBucket(qps, burst, clock)
        self._may_bind = may_bind
        #: Called right before anything is written to the cluster, except events and leases.
        self._before_write = self._check_leading if may_bind is not None else None
        #: By uid: a pod that was unschedulable may be bound soon after, and its condition must not arrive later.
        self._pod_locks = KeyedLock()

    def _check_leading(self) -> None:
        if self._may_bind is not None and not self._may_bind():
            raise NotLeadingError("no longer the leader: nothing was written")

    async def close(self) -> None:
        await self._transport.close()

    # --- any request --------------------------------------------------------------------------------------

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
        """Send any request. A PATCH is a merge patch unless *content_type* says otherwise.

        *repeatable*: whether it is safe to send it again if its result is unknown; by default only a GET is.
        """
        if content_type is None:
            content_type = MERGE_PATCH if method == "PATCH" else JSON
        response = await self._send(
            method,
            path,
            body,
            query=query,
            content_type=content_type,
            repeatable=method == "GET" if repeatable is None else repeatable,
            before_send=None if method == "GET" else self._before_write,
        )
        return _decode(response)

    async def get_protobuf(self, path: str) -> bytes:
        """An object in protobuf, which keeps every byte of what it was created with; JSON does not."""
        return await self._send("GET", path, content_type=PROTOBUF, repeatable=True)

    async def get_bytes(self, path: str, query: Query | None = None) -> bytes:
        """A GET without retries: reflectors have their own backoff."""
        return await self._send_once("GET", path, query=query)

    def stream(self, path: str, query: Query | None = None) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """A GET whose response is read as it arrives."""
        return _RateLimitedStream(self._limiter, self._transport.stream(path, query))

    def _send_once(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> Coroutine[Any, Any, bytes]:
        """One request within the rate limit, to be awaited at once; one coroutine less if there is no delay."""
        delay = self._limiter.reserve()
        request = self._transport.request_bytes(
            method, path, body, query=query, content_type=content_type, before_send=before_send
        )
        return self._delayed(delay, request) if delay > 0 else request

    async def _delayed(self, delay: float, request: Coroutine[Any, Any, bytes]) -> bytes:
        try:
            await self._clock.sleep(delay)
        except BaseException:
            request.close()
            raise
        return await request

    async def _send(
        self,
        method: str,
        path: str,
        body: object | None = None,
        *,
        repeatable: bool,
        query: Query | None = None,
        content_type: str = JSON,
        before_send: Callable[[], None] | None = None,
    ) -> bytes:
        """A request with retries. *before_send* is called for each try, and may raise."""
        retries: Retries | None = None
        while True:
            try:
                return await self._send_once(
                    method, path, body, query=query, content_type=content_type, before_send=before_send
                )
            except ClientError as error:
                retries = retries or Retries(self._clock, self._rng)
                await retries.wait(error, repeatable=repeatable)

    # --- pods ---------------------------------------------------------------------------------------------

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind *pod* to *node_name*; returns when it is certain to be bound there.

        Raises ConflictError (it is bound already, or another pod of the same name by now), NotFoundError or
        NotLeadingError.
        """
        path = f"{_pod_path(pod)}/binding"
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            # With the uid, the server refuses to bind a newer pod of the same name.
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"kind": "Node", "name": node_name},
        }
        body = msgspec.json.encode(binding)
        if not self._pod_locks.try_acquire(pod.uid):
            await self._pod_locks.acquire(pod.uid)
        try:
            await self._send_once("POST", path, body, before_send=self._before_write)
        except (ApiError, TransportError) as failure:
            await self._retry_bind(pod, node_name, path, body, failure)
        finally:
            self._pod_locks.release(pod.uid)

    async def _retry_bind(
        self, pod: Pod, node_name: str, path: str, body: bytes, failure: ApiError | TransportError
    ) -> None:
        """After the first *failure*, until the result is certain."""
        retries, may_be_bound = Retries(self._clock, self._rng), False
        while True:
            if isinstance(failure, ConflictError):
                if may_be_bound and await self._is_bound(pod, node_name):
                    return  # by an earlier try
                raise failure
            if _is_result_unknown(failure):
                may_be_bound = True
                logger.warning("Outcome of a bind is unknown: pod=%s node=%s: %s", pod.key, node_name, failure)
                if await self._is_bound(pod, node_name):
                    return
            await retries.wait(failure, repeatable=True)
            try:
                await self._send_once("POST", path, body, before_send=self._before_write)
                return
            except (ApiError, TransportError) as error:
                failure = error

    async def _is_bound(self, pod: Pod, node_name: str) -> bool:
        """Whether *pod* is bound to *node_name*. Raises if it is bound elsewhere, gone, or another pod by now."""
        current = await self.request("GET", _pod_path(pod))
        if current["metadata"].get("uid", "") != pod.uid:
            raise _pod_not_found(pod)
        bound_to: str = current["spec"].get("nodeName", "")
        if bound_to and bound_to != node_name:
            message = (
                f'Operation cannot be fulfilled on pods/binding "{pod.name}": '
                f'pod {pod.name} is already assigned to node "{bound_to}"'
            )
            raise ConflictError(409, reason="Conflict", message=message)
        return bound_to == node_name

    async def patch_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        """Set a condition and the nominated node ("" removes it); False if the status has both already.

        Raises NotFoundError if the pod is gone, or another one of the same name by now.
        """
        patch = status_patch(
            pod, condition=condition, nominated_node_name=nominated_node_name, now=self._clock.now()
        )
        if patch is None:
            return False
        await self._pod_locks.acquire(pod.uid)
        try:
            await self._send(
                "PATCH",
                f"{_pod_path(pod)}/status",
                patch,
                content_type=STRATEGIC_PATCH,
                repeatable=True,
                before_send=self._before_write,
            )
        except ApiError as error:
            if error.status == 422 and "metadata.uid" in error.message:
                raise _pod_not_found(pod) from error
            raise
        finally:
            self._pod_locks.release(pod.uid)
        return True

    async def delete_pod(self, pod: Pod, *, grace_period_seconds: int | None = None) -> bool:
        """Delete exactly this pod; False if it is gone, or another one of the same name by now."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if pod.uid:
            options["preconditions"] = {"uid": pod.uid}
        if grace_period_seconds is not None:
            options["gracePeriodSeconds"] = grace_period_seconds
        try:
            await self._send("DELETE", _pod_path(pod), options, repeatable=True, before_send=self._before_write)
        except (NotFoundError, ConflictError):
            return False
        return True

    # --- events -------------------------------------------------------------------------------------------

    def create_event(self, namespace: str, event: object) -> Coroutine[Any, Any, bool]:
        """False if it exists already. Names of events are unique, so then an earlier try has created it."""
        return self._create_if_missing(f"{EVENTS}/namespaces/{namespace}/events", event)

    async def create_core_event(self, namespace: str, event: object) -> None:
        """An event of the core API, which leader election still uses."""
        await self._create_if_missing(f"/api/v1/namespaces/{namespace}/events", event)

    async def patch_event(self, namespace: str, name: str, patch: object) -> None:
        path = f"{EVENTS}/namespaces/{namespace}/events/{name}"
        await self._send("PATCH", path, patch, content_type=STRATEGIC_PATCH, repeatable=True)

    async def _create_if_missing(self, path: str, event: object) -> bool:
        try:
            await self._send("POST", path, event, repeatable=True)
        except ConflictError as conflict:
            if not conflict.already_exists:
                raise
            return False
        return True

    # --- leases, without retries: leader election has its own schedule ----------------------------------------

    async def get_lease(self, namespace: str, name: str) -> dict[str, Any]:
        return _decode(await self._send_once("GET", f"{LEASES}/namespaces/{namespace}/leases/{name}"))

    async def create_lease(self, namespace: str, lease: object) -> dict[str, Any]:
        return _decode(await self._send_once("POST", f"{LEASES}/namespaces/{namespace}/leases", lease))

    async def update_lease(self, namespace: str, name: str, lease: object) -> dict[str, Any]:
        return _decode(await self._send_once("PUT", f"{LEASES}/namespaces/{namespace}/leases/{name}", lease))


class _RateLimitedStream(AbstractAsyncContextManager[AsyncIterator[bytes]]):
    def __init__(self, limiter: TokenBucket, stream: AbstractAsyncContextManager[AsyncIterator[bytes]]) -> None:
        self._limiter = limiter
        self._stream = stream

    async def __aenter__(self) -> AsyncIterator[bytes]:
        await self._limiter.acquire()
        return await self._stream.__aenter__()

    async def __aexit__(self, *exception: Any) -> bool | None:
        return await self._stream.__aexit__(*exception)


def _pod_path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


def _pod_not_found(pod: Pod) -> NotFoundError:
    return NotFoundError(404, reason="NotFound", message=f'pods "{pod.name}" not found')


def _is_result_unknown(error: ApiError | TransportError) -> bool:
    """Whether the server may have done what was requested."""
    if isinstance(error, ApiError):
        return error.status >= 500 and not is_throttled(error)
    return error.sent


def _decode(response: bytes) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(response, type=dict[str, Any]) if response else {}
    return decoded
