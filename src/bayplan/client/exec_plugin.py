"""Exec plugins: a command prints an ExecCredential of client.authentication.k8s.io, used until it expires."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bayplan.client.auth import Credential
from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig import ExecPlugin
from bayplan.client.tls import Certificate, Pem
from bayplan.framework import Clock
from bayplan.model import parse_time

TIMEOUT_SECONDS = 60.0
#: Renewed this long before it expires, so that no request is under way with it when it does.
_EARLY_SECONDS = 10.0
_SHOWN_BYTES = 500


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


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
        if self._expires_at is not None and self._clock.now() >= self._expires_at - _EARLY_SECONDS:
            return None
        return self._credential

    def invalidate(self, rejected: Credential) -> bool:
        if self._credential is rejected:
            self._credential = None
        return True

    async def refresh(self) -> Credential:
        """However many requests ask for it, the plugin runs once."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._run())
            self._running.add_done_callback(self._forget)
        return await asyncio.shield(self._running)

    def _forget(self, task: asyncio.Task[Credential]) -> None:
        self._running = None
        if not task.cancelled():
            task.exception()  # told to whoever waited; nobody waits any more if they were cancelled

    async def _run(self) -> Credential:
        output = await self._output()
        status = self._read(output)
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
            async with asyncio.timeout(TIMEOUT_SECONDS):
                output, complaints = await process.communicate()
        except TimeoutError:
            raise self._error(f"did not finish within {TIMEOUT_SECONDS:.0f} seconds") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            said = complaints[-_SHOWN_BYTES:].decode(errors="replace").strip()
            raise self._error(f"ended with code {process.returncode}{f': {said}' if said else ''}")
        return output

    def _exec_info(self) -> str:
        spec: dict[str, Any] = {"interactive": False}
        cluster = self._plugin.cluster_config
        if self._plugin.provide_cluster_info and isinstance(cluster, Mapping):
            known = ("tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "server")
            spec["cluster"] = {name: cluster[name] for name in known if cluster.get(name)}
            if self._server:
                spec["cluster"]["server"] = self._server
        info = {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}
        return msgspec.json.encode(info).decode()

    def _read(self, output: bytes) -> _Status:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise self._error(f"did not print an ExecCredential: {error}") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._plugin.api_version:
            raise self._error(
                f"printed {answer.kind or 'no kind'} of {answer.api_version or 'no apiVersion'}, "
                f"not ExecCredential of {self._plugin.api_version}"
            )
        status = answer.status
        if status is None or not (status.token or status.client_certificate_data):
            raise self._error("printed neither a token nor a certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("printed a certificate without its key, or a key without its certificate")
        return status

    def _expiry(self, status: _Status) -> float | None:
        if not status.expiration_timestamp:
            return None
        try:
            return parse_time(status.expiration_timestamp).timestamp()
        except ValueError:
            raise self._error(f"printed the expirationTimestamp {status.expiration_timestamp!r}") from None

    def _error(self, message: str) -> AccessError:
        return AccessError(f"the exec plugin {self._plugin.command} {message}")
