"""Binding a pod: the one request that must not be guessed about.

A bind whose outcome is unknown (the connection was cut, the server answered 5xx) is looked up before anything else
happens: the pod is there (done), nowhere (again), or somewhere else (a conflict, as if the server had said so).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import msgspec

from bayplan.client.calls import Calls, is_asked_to_wait
from bayplan.client.errors import (
    ApiError,
    ClientError,
    ConflictError,
    NotFoundError,
    TransportError,
)
from bayplan.client.placement import read_placement
from bayplan.client.turns import Turns
from bayplan.model import Pod

logger = logging.getLogger("bayplan.client")


class Binder:
    """Binds pods, each when its turn has come; *before_send* is asked right before the request is written, and may
    raise instead."""

    def __init__(self, calls: Calls, turns: Turns, before_send: Callable[[], None] | None = None) -> None:
        self._calls = calls
        self._turns = turns
        self._before_send = before_send

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Raises ConflictError (bound already, or another pod by now), NotFoundError (gone), NotLeadingError."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
        body = msgspec.json.encode(binding_of(pod, node_name))
        turn = self._turns.turn(pod.uid)
        if not turn.begin():
            await turn.wait()
        try:
            await self._calls.once("POST", path, body, before_send=self._before_send)
        except (ApiError, TransportError) as failure:
            await self._try_again(pod, node_name, path, body, failure)
        finally:
            turn.end()

    async def _try_again(
        self, pod: Pod, node_name: str, path: str, body: bytes, failure: ApiError | TransportError
    ) -> None:
        """After the first *failure*, until it is known what came of it."""
        tries, doubtful = self._calls.tries(), False
        while True:
            if isinstance(failure, ConflictError):
                if doubtful and await self._is_there(pod, node_name):
                    return  # it was an earlier try of ours
                raise failure
            if _outcome_is_unknown(failure):
                doubtful = True
                logger.warning("Outcome of a bind is unknown: pod=%s node=%s: %s", pod.key, node_name, failure)
                if await self._is_there(pod, node_name):
                    return
            await tries.wait(failure, repeatable=True)
            try:
                await self._calls.once("POST", path, body, before_send=self._before_send)
                return
            except (ApiError, TransportError) as error:
                failure = error

    async def _is_there(self, pod: Pod, node_name: str) -> bool:
        """Whether the pod is bound to *node_name*. Raises if it is elsewhere, gone, or another one."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        answer = read_placement(await self._calls.call("GET", path, repeatable=True))
        if answer.metadata.uid != pod.uid:
            raise NotFoundError(404, reason="NotFound", message=f'pods "{pod.name}" not found')
        there = answer.spec.node_name
        if there and there != node_name:
            message = (
                f'Operation cannot be fulfilled on pods/binding "{pod.name}": '
                f'pod {pod.name} is already assigned to node "{there}"'
            )
            raise ConflictError(409, reason="Conflict", message=message)
        return there == node_name


def binding_of(pod: Pod, node_name: str) -> dict[str, object]:
    """The Binding; with the uid, so that a pod of the same name made meanwhile is not meant."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "target": {"kind": "Node", "name": node_name},
    }


def _outcome_is_unknown(error: ClientError) -> bool:
    if isinstance(error, ApiError):
        return error.status >= 500 and not is_asked_to_wait(error)
    return isinstance(error, TransportError) and error.sent
