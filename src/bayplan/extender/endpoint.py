"""The connection to an extender: URL, TLS and pooling, from its configuration.

In: a verb and a body. Out: the body of a 200 response, or ExtenderError in the words of Go's client.
"""

from __future__ import annotations

import asyncio
import base64
import errno
import ssl
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from bayplan.client import AccessError, Certificate, Pem, TransportError, Trust
from bayplan.client.certificates import make_context
from bayplan.client.connection_pool import ConnectionPool
from bayplan.client.http1 import Http1Connection
from bayplan.client.http_messages import FixedHeaders, HttpRequest, HttpResponse
from bayplan.framework.extenders import ExtenderError

if TYPE_CHECKING:
    from bayplan.config import types as config

#: upstream DefaultExtenderTimeout
TIMEOUT_SECONDS: Final = 5.0
#: The scheduling cycle sends one request at a time; the others are binds.
MAX_CONNECTIONS: Final = 32
USER_AGENT: Final = "Go-http-client/1.1"


class Endpoint:
    """See the module docstring. Raises AccessError if the configuration is invalid."""

    def __init__(self, extender: config.Extender) -> None:
        self._prefix = extender.url_prefix.rstrip("/")
        url = urlsplit(self._prefix)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise AccessError(f"extender: urlPrefix is not an http or https URL: {extender.url_prefix!r}")
        self._host = url.hostname
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._timeout = extender.http_timeout.total_seconds() or TIMEOUT_SECONDS
        self._context: ssl.SSLContext | None = None
        self._server_name = ""
        if url.scheme == "https":
            self._context, self._server_name = _tls(extender)
        self._path = url.path
        self._headers = _headers(url.netloc)
        self._pool = ConnectionPool(self._connect, limit=MAX_CONNECTIONS)

    async def post(self, verb: str, body: bytes, *, again: bool) -> bytes:
        """The response to *verb*. With *again* the request is repeated once if a pooled connection was dead."""
        url = f"{self._prefix}/{verb}"
        request = HttpRequest("POST", f"{self._path}/{verb}", self._headers, body, "application/json")
        try:
            async with asyncio.timeout(self._timeout):
                reply = await self._exchange(request, again=again)
        except TimeoutError:
            late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            raise ExtenderError(f'Post "{url}": {late}') from None
        except TransportError as error:
            raise ExtenderError(f'Post "{url}": {error}') from None
        if reply.status != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {reply.status}")
        return reply.body

    async def close(self) -> None:
        self._pool.close()
        await asyncio.sleep(0)  # let the connections close

    async def _exchange(self, request: HttpRequest, *, again: bool) -> HttpResponse:
        try:
            return await self._pool.send(request, self._timeout)
        except TransportError as error:
            if not (error.reused and (again or not error.sent)):
                raise
            self._pool.close_idle()
            return await self._pool.send(request, self._timeout)

    async def _connect(self) -> list[Http1Connection]:
        options: dict[str, Any] = {}
        if self._context is not None:
            options = {"ssl": self._context, "server_hostname": self._server_name or self._host}
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(Http1Connection, self._host, self._port, **options)
        except ssl.SSLCertVerificationError as error:
            why = f"tls: failed to verify certificate: {error.verify_message}"
            raise TransportError(why, sent=False) from None
        except OSError as error:
            why = "connection refused" if error.errno == errno.ECONNREFUSED else str(error)
            raise TransportError(f"dial tcp {self._host}:{self._port}: connect: {why}", sent=False) from None
        return [connection]


def _headers(netloc: str) -> FixedHeaders:
    credentials, _, host = netloc.rpartition("@")
    pairs = [("User-Agent", USER_AGENT)]
    if credentials:
        name, _, password = credentials.partition(":")
        plain = f"{unquote(name)}:{unquote(password)}".encode()
        pairs.append(("Authorization", f"Basic {base64.b64encode(plain).decode()}"))
    return FixedHeaders(host, pairs)


def _tls(extender: config.Extender) -> tuple[ssl.SSLContext, str]:
    """Without a certificate authority `enableHTTPS` does not verify, as in kube-scheduler."""
    tls = extender.tls_config
    if tls is None:
        return make_context(Trust(insecure=extender.enable_https), None), ""
    ca = Pem(tls.ca_data, tls.ca_file)
    insecure = tls.insecure or (extender.enable_https and not ca)
    where = f"extender {extender.url_prefix}"
    if insecure and ca:
        raise AccessError(f"{where}: tlsConfig sets insecure and a certificate authority; only one is allowed")
    certificate = Pem(tls.cert_data, tls.cert_file)
    key = Pem(tls.key_data, tls.key_file)
    if bool(certificate) != bool(key):
        raise AccessError(f"{where}: tlsConfig needs a certificate and its key, or neither")
    try:
        shown = Certificate(certificate, key) if certificate else None
        return make_context(Trust(ca, insecure=insecure), shown), tls.server_name
    except AccessError as error:
        raise AccessError(f"{where}: {error}") from None
