"""Credentials: static ones, token files that are rotated, and exec plugins.

In: an `AuthInfo`. Out: a `Credential`, and a `CredentialSource` if it can expire. An exec plugin is a
command that prints an ExecCredential of client.authentication.k8s.io, which is used until it expires.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from bayplan.client.certificates import Certificate, Pem
from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig import AuthInfo, ExecPlugin
from bayplan.model import parse_time

if TYPE_CHECKING:
    from bayplan.framework import Clock

#: client-go reads a token file again after a minute at most.
TOKEN_FILE_SECONDS = 60.0
EXEC_TIMEOUT_SECONDS = 60.0
#: An exec credential is renewed this long before it expires, so that it does not expire during a request.
_RENEW_BEFORE_SECONDS = 10.0
_SHOWN_STDERR_BYTES = 500


@dataclass(frozen=True, slots=True)
class Credential:
    """The Authorization header of a request, and the certificate of its connection."""

    authorization: str = ""
    certificate: Certificate | None = None

    @classmethod
    def bearer(cls, token: str, certificate: Certificate | None = None) -> Credential:
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise AccessError("the token has characters that no token has")
        return cls(f"Bearer {token}" if token else "", certificate)


class CredentialSource(Protocol):
    """Provides credentials that expire."""

    def current(self) -> Credential | None:
        """The valid credential; None if `refresh` is needed. Called for every request."""

    async def refresh(self) -> Credential:
        """Replace what has expired. Raises AccessError."""

    def invalidate(self, rejected: Credential) -> bool:
        """The server answered 401 to *rejected*; whether another try may help."""


def static_credential(auth_info: AuthInfo) -> Credential:
    """The credential that is written in the kubeconfig: a token, a password, or only a certificate."""
    if auth_info.username:
        pair = base64.b64encode(f"{auth_info.username}:{auth_info.password}".encode()).decode()
        return Credential(f"Basic {pair}", auth_info.certificate)
    return Credential.bearer(auth_info.token, auth_info.certificate)


def credential_source(auth_info: AuthInfo, clock: Clock, *, server: str = "") -> CredentialSource | None:
    """What renews the credential; None if it is static."""
    if auth_info.exec is not None:
        return ExecCredentials(auth_info.exec, auth_info.certificate, clock, server=server)
    if auth_info.token_file:
        return TokenFileCredentials(auth_info.token_file, auth_info.certificate, clock)
    return None


class TokenFileCredentials:
    """A token in a file that is rotated, as the kubelet does for service accounts."""

    def __init__(self, path: str, certificate: Certificate | None, clock: Clock) -> None:
        self._path = Path(path)
        self._certificate = certificate
        self._clock = clock
        self._credential: Credential | None = None
        self._read_at = 0.0

    def current(self) -> Credential | None:
        if self._credential is None or self._clock.monotonic() - self._read_at >= TOKEN_FILE_SECONDS:
            return None
        return self._credential

    async def refresh(self) -> Credential:
        try:
            token = self._path.read_text().strip()
            if not token:
                raise AccessError(f"the token file {self._path} is empty")
        except (OSError, UnicodeDecodeError, AccessError) as error:
            if self._credential is None:
                raise AccessError(f"cannot read the token file {self._path}: {error}") from None
            self._read_at = self._clock.monotonic()  # it is being replaced: the old token is still valid
            return self._credential
        self._credential = Credential.bearer(token, self._certificate)
        self._read_at = self._clock.monotonic()
        return self._credential

    def invalidate(self, rejected: Credential) -> bool:
        """Another try helps if the file has another token by now."""
        try:
            token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError):
            return False
        if f"Bearer {token}" == rejected.authorization:
            return False
        self._read_at = -TOKEN_FILE_SECONDS
        self._credential = None
        return True


class _ExecCredentialStatus(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _ExecCredentialStatus | None = None


class ExecCredentials:
    """Runs the plugin when there is no credential, when it has expired and when the server refuses it."""

    def __init__(
        self, plugin: ExecPlugin, certificate: Certificate | None, clock: Clock, *, server: str = ""
    ) -> None:
        self._plugin = plugin
        self._certificate = certificate
        self._clock = clock
        self._server = server
        self._credential: Credential | None = None
        self._expires_at: float | None = None
        self._running: asyncio.Task[Credential] | None = None

    def current(self) -> Credential | None:
        if self._expires_at is not None and self._clock.now() >= self._expires_at - _RENEW_BEFORE_SECONDS:
            return None
        return self._credential

    def invalidate(self, rejected: Credential) -> bool:
        if self._credential is rejected:
            self._credential = None
        return True

    async def refresh(self) -> Credential:
        """Concurrent calls run the plugin once."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._run())
            self._running.add_done_callback(self._run_ended)
        return await asyncio.shield(self._running)

    def _run_ended(self, task: asyncio.Task[Credential]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # marks it as retrieved, in case all callers were cancelled

    async def _run(self) -> Credential:
        status = self._parse(await self._output())
        certificate = self._certificate
        if status.client_certificate_data:
            certificate = Certificate(
                Pem(data=status.client_certificate_data.encode()), Pem(data=status.client_key_data.encode())
            )
        self._expires_at = self._expiry(status)
        self._credential = Credential.bearer(status.token, certificate)
        return self._credential

    async def _output(self) -> bytes:
        environment = {**os.environ, **dict(self._plugin.env), "KUBERNETES_EXEC_INFO": self._exec_info()}
        try:
            process = await asyncio.create_subprocess_exec(
                self._plugin.command,
                *self._plugin.args,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f"\n{self._plugin.install_hint.strip()}" if self._plugin.install_hint else ""
            raise self._error(f"cannot be run: {error.strerror}{hint}") from None
        try:
            async with asyncio.timeout(EXEC_TIMEOUT_SECONDS):
                stdout, stderr = await process.communicate()
        except TimeoutError:
            raise self._error(f"did not finish within {EXEC_TIMEOUT_SECONDS:.0f} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            message = stderr[-_SHOWN_STDERR_BYTES:].decode(errors="replace").strip()
            raise self._error(f"ended with code {process.returncode}{f': {message}' if message else ''}")
        return stdout

    def _exec_info(self) -> str:
        spec: dict[str, Any] = {"interactive": False}
        cluster = self._plugin.cluster_config
        if self._plugin.provide_cluster_info and isinstance(cluster, Mapping):
            fields = ("tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "server")
            spec["cluster"] = {name: cluster[name] for name in fields if cluster.get(name)}
            if self._server:
                spec["cluster"]["server"] = self._server
        info = {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}
        return msgspec.json.encode(info).decode()

    def _parse(self, output: bytes) -> _ExecCredentialStatus:
        try:
            printed = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise self._error(f"did not print an ExecCredential: {error}") from None
        if printed.kind != "ExecCredential" or printed.api_version != self._plugin.api_version:
            raise self._error(
                f"printed {printed.kind or 'no kind'} of {printed.api_version or 'no apiVersion'}, "
                f"not ExecCredential of {self._plugin.api_version}"
            )
        status = printed.status
        if status is None or not (status.token or status.client_certificate_data):
            raise self._error("printed neither a token nor a certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("printed a certificate without its key, or a key without its certificate")
        return status

    def _expiry(self, status: _ExecCredentialStatus) -> float | None:
        if not status.expiration_timestamp:
            return None
        try:
            return parse_time(status.expiration_timestamp).timestamp()
        except ValueError:
            raise self._error(f"printed the expirationTimestamp {status.expiration_timestamp!r}") from None

    def _error(self, message: str) -> AccessError:
        return AccessError(f"the exec plugin {self._plugin.command} {message}")
