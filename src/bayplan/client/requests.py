"""One request to the API server and its answer: credential, headers, and what is done again.

Two things are, because nothing can have happened: a request refused for an expired credential, and a GET on a kept
connection that was dead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Final, Protocol
from urllib.parse import urlencode

import msgspec

from bayplan.client.auth import Credential, Credentials
from bayplan.client.errors import TransportError, api_error
from bayplan.client.exchange import Request, SharedHeaders
from bayplan.client.pool import Pool

Query = Mapping[str, str | int]
_NOT_IN_A_PATH: Final = re.compile(r"[^\x21-\x7e]")


class RequestObserver(Protocol):
    """Told about every answer: metrics hang on this."""

    def answered(self, host: str, method: str, status: int | None, seconds: float) -> None:
        """*status* is None where no answer came."""


class Requests:
    """Requests with one identity over the connections of one pool."""

    def __init__(
        self,
        pool: Pool,
        credentials: Credentials,
        *,
        netloc: str,
        prefix: str,
        headers: Sequence[tuple[str, str]],
        timeout_seconds: float,
        may_retry_unauthorized: Callable[[Credential], bool],
        observer: RequestObserver | None,
    ) -> None:
        self._pool = pool
        self._credentials = credentials
        self._netloc = netloc
        #: Of every path.
        self._prefix = prefix
        self._fixed_headers = headers
        self._timeout = timeout_seconds
        #: Whether a refused credential has been replaced by another.
        self._may_retry_unauthorized = may_retry_unauthorized
        self._observer = observer
        self._headers = SharedHeaders(netloc, headers)
        #: The credential that `_headers` show.
        self._shown: Credential | None = None

    async def send(
        self,
        method: str,
        path: str,
        body: object | None,
        query: Query | None,
        content_type: str,
        before_send: Callable[[], None] | None,
    ) -> bytes:
        """The body of a 2xx answer."""
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        target = self.target(path, query)
        again_after_cut = again_after_401 = True
        while True:
            credential = self._credentials.current()
            if credential is None:
                credential = await self._credentials.refresh()
            request = Request(method, target, self.headers_with(credential), content, content_type)
            start = perf_counter()
            try:
                reply = await self._pool.exchange(request, self._timeout, before_send)
            except TransportError as error:
                self.observe(method, None, start)
                if not (again_after_cut and error.reused and (method == "GET" or not error.sent)):
                    raise
                again_after_cut = False
                self._pool.retire_idle()  # the others are likely dead as well
                continue
            status = reply.status
            self.observe(method, status, start)
            if 200 <= status < 300:
                return reply.body
            if status == 401 and again_after_401 and self._may_retry_unauthorized(credential):
                again_after_401 = False
                continue
            raise api_error(status, reply.body, reply.headers)

    def observe(self, method: str, status: int | None, start: float) -> None:
        if self._observer is not None:
            self._observer.answered(self._netloc, method, status, perf_counter() - start)

    def target(self, path: str, query: Query | None) -> str:
        target = f"{self._prefix}{path}"
        if query:
            target = f"{target}{'&' if '?' in path else '?'}{urlencode(query)}"
        if _NOT_IN_A_PATH.search(target) or not path.startswith("/"):
            raise ValueError(f"not a path of the API: {path!r}")
        return target

    def headers_with(self, credential: Credential) -> SharedHeaders:
        if credential is not self._shown:
            shown = [("Authorization", credential.authorization)] if credential.authorization else []
            self._headers, self._shown = SharedHeaders(self._netloc, [*self._fixed_headers, *shown]), credential
        return self._headers
