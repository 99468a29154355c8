"""SecureServer: HTTPS on one address; every request is authenticated, authorized and then handled."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayplan.client.errors import ClientError
from bayplan.framework import Clock
from bayplan.observe import klog
from bayplan.server.authentication import DelegatingAuthenticator, ReviewClient, UnauthorizedError, User
from bayplan.server.authorization import AuthorizationError, DelegatingAuthorizer
from bayplan.server.http_endpoints import (
    SCHEDULER_PATHS,
    EndpointRequest,
    Endpoints,
    status_response,
    text_response,
)
from bayplan.server.serving_certificates import (
    ServingError,
    load_pair,
    make_context,
    pair_in,
    read_pair,
    self_signed,
    trust_clients,
)

if TYPE_CHECKING:
    from aiohttp import web

log = klog.get_logger("bayplan.server")

#: The ConfigMap with the API server's client certificate authorities.
CLIENT_CA_PATH: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
#: How often certificates in files and in the cluster are checked for changes.
REFRESH_SECONDS: Final = 60.0
#: No legitimate request is larger.
MAX_BODY_BYTES: Final = 1024
SHUTDOWN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """The flags --bind-address, --secure-port, --tls-*, --cert-dir and --client-ca-file."""

    address: str = "127.0.0.1"
    port: int = 10259
    certificate_file: str = ""
    key_file: str = ""
    cert_dir: str = ""
    min_version: str = ""
    ciphers: tuple[str, ...] = ()
    client_ca_file: str = ""
    reuse_address: bool = False
    reuse_port: bool = False
    #: Whether to look up the client certificate authorities in the cluster, and whether a failure is fatal.
    look_up_client_ca: bool = True
    tolerate_lookup_failure: bool = True


class AuthorizedVisitor:
    """Implements `Visitor`: the API server says what the user may do."""

    def __init__(self, user: User, authorizer: DelegatingAuthorizer) -> None:
        self._user = user
        self._authorizer = authorizer

    async def may(self, verb: str, resource: str, namespace: str = "") -> bool:
        return (await self._authorizer.authorize_resource(self._user, verb, resource, namespace)).allowed


def _endpoint_request(request: web.BaseRequest, body: bytes = b"") -> EndpointRequest:
    query = {name: request.query.getall(name) for name in request.query}
    return EndpointRequest(query, request.headers.get("Accept", "*/*"), body)


def _undecided(path: str) -> web.Response:
    message = f'Internal Server Error: "{path}": the API server did not say whether this is allowed'
    return text_response(f"{message}\n", status=500)


class SecureServer:
    """See the module docstring."""

    def __init__(
        self,
        options: ServingOptions,
        endpoints: Endpoints,
        authenticator: DelegatingAuthenticator,
        authorizer: DelegatingAuthorizer,
        clock: Clock,
        *,
        cluster: ReviewClient | None = None,
        in_scheduler: Callable[[Callable[[], web.Response]], Awaitable[web.Response]] | None = None,
    ) -> None:
        """*cluster* is where the client certificate authority is looked up. *in_scheduler* calls a handler in the
        thread of the scheduler, for paths that read its data; None if the server runs there itself."""
        self._options = options
        self._routes = endpoints.routes()
        self._inspections = endpoints.inspections
        self._paths = {path for _, path in self._routes} | set(self._inspections)
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._clock = clock
        self._cluster = cluster
        self._in_scheduler = in_scheduler
        self._context = make_context(min_version=options.min_version, ciphers=options.ciphers)
        self._files = (options.certificate_file, options.key_file)
        self._loaded: object = None
        self._client_ca = ""
        self._runner: web.ServerRunner | None = None
        self._refreshing: asyncio.Task[None] | None = None
        #: The port, once the server listens.
        self.port = options.port

    # --- running ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start listening; raises ServingError if that is not possible."""
        from aiohttp import web  # imported late: a process without a server does not need it

        self._load_certificate()
        if self._options.client_ca_file:
            self._trust(_read(self._options.client_ca_file), self._options.client_ca_file)
        if not self._options.tolerate_lookup_failure:
            await self.look_up_client_ca()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        self._runner = runner
        site = web.TCPSite(
            runner,
            self._options.address,
            self._options.port,
            ssl_context=self._context,
            reuse_address=self._options.reuse_address or None,
            reuse_port=self._options.reuse_port or None,
        )
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            where = f"{self._options.address}:{self._options.port}"
            raise ServingError(f"cannot serve on {where}: {error.strerror or error}") from None
        self.port = runner.addresses[0][1]
        log.info(f"Serving securely on {self._options.address}:{self.port}")
        self._refreshing = asyncio.create_task(self._keep_fresh(), name="serving certificates")

    async def stop(self) -> None:
        """Stop accepting requests; those in progress have a few seconds."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)
            self._refreshing = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    # --- requests ---------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._respond(request)
        response.headers["Cache-Control"] = "no-cache, private"
        response.headers["Server"] = "bayplan"
        return response

    async def _respond(self, request: web.BaseRequest) -> web.Response:
        # 1. Authenticate.
        certificate = request.get_extra_info("peercert")
        try:
            user = await self._authenticator.authenticate(request.headers.get("Authorization", ""), certificate)
        except UnauthorizedError:
            return status_response(401, "Unauthorized", "Unauthorized")
        # 2. Authorize.
        refusal = await self._refusal(user, request)
        if refusal is not None:
            return refusal
        # 3. Handle.
        method = "GET" if request.method == "HEAD" else request.method
        if method == "GET" and request.path in self._inspections:
            return await self._inspect(user, request)
        handler = self._routes.get((method, request.path))
        if handler is None:
            if request.path in self._paths:
                return text_response("405 method not allowed\n", status=405)
            return text_response("404 page not found\n", status=404)
        body = await request.content.read(MAX_BODY_BYTES) if method == "PUT" else b""
        read = _endpoint_request(request, body)
        if self._in_scheduler is not None and request.path in SCHEDULER_PATHS:
            return await self._in_scheduler(lambda: handler(read))
        return handler(read)

    async def _inspect(self, user: User, request: web.BaseRequest) -> web.Response:
        visitor = AuthorizedVisitor(user, self._authorizer)
        try:
            return await self._inspections[request.path](_endpoint_request(request), visitor)
        except AuthorizationError:
            return _undecided(request.path)

    async def _refusal(self, user: User, request: web.BaseRequest) -> web.Response | None:
        verb, path = request.method.lower(), request.path
        try:
            access = await self._authorizer.authorize(user, verb, path)
        except AuthorizationError:
            return _undecided(path)
        if access.allowed:
            return None
        message = f'forbidden: User "{user.name}" cannot {verb} path "{path}"'
        return status_response(403, "Forbidden", f"{message}: {access.reason}" if access.reason else message)

    # --- certificates -----------------------------------------------------------------------------

    def _load_certificate(self) -> None:
        options = self._options
        addresses = [] if options.address in ("0.0.0.0", "::") else [options.address]  # noqa: S104
        if not any(self._files):
            if not options.cert_dir:
                load_pair(self._context, self_signed(addresses=addresses), "self-signed")
                log.info("Generated self-signed cert in-memory")
                return
            self._files = pair_in(options.cert_dir, addresses=addresses)
        elif not all(self._files):
            raise ServingError("--tls-cert-file and --tls-private-key-file go together; one of them is missing")
        self._loaded = _signature(*self._files)
        load_pair(self._context, read_pair(*self._files), self._files[0])

    def _trust(self, authorities: str, where: str) -> None:
        if authorities and authorities != self._client_ca:
            trust_clients(self._context, authorities, where)
            self._client_ca = authorities

    async def look_up_client_ca(self) -> None:
        """Trust the client certificates that the API server trusts."""
        options = self._options
        if self._cluster is None or options.client_ca_file or not options.look_up_client_ca:
            return
        try:
            found = await self._cluster.request("GET", CLIENT_CA_PATH)
            self._trust((found.get("data") or {}).get("client-ca-file", ""), CLIENT_CA_PATH)
        except (ClientError, ServingError) as error:
            if not options.tolerate_lookup_failure:
                raise ServingError(f"cannot look up the client certificate authority: {error}") from None
            message = "Error looking up in-cluster authentication configuration; client certificates won't work"
            log.info(message, v=1, err=error)

    async def _keep_fresh(self) -> None:
        while True:
            with contextlib.suppress(ServingError):  # logged already, and the loaded certificate stays in use
                await self.look_up_client_ca()
            await self._clock.sleep(REFRESH_SECONDS)
            try:
                if all(self._files) and self._loaded != _signature(*self._files):
                    load_pair(self._context, read_pair(*self._files), self._files[0])
                    self._loaded = _signature(*self._files)
                    log.info("Loaded a new cert/key pair", name=self._files[0])
            except (ServingError, ssl.SSLError) as error:
                log.error(error, "Unable to reload the serving certificate")


def _read(file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read the client certificate authority: {file}: {error}") from None


def _signature(*files: str) -> object:
    """Changes when a file is renewed."""
    try:
        return tuple((file, os.stat(file).st_mtime_ns, os.stat(file).st_ino) for file in files)
    except OSError:
        return None
