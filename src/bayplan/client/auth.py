"""Credentials that stay valid: static ones, token files that are renewed, and exec plugins.

`Credentials.current()` is what every request asks, and costs nothing while nothing expires; when it says None,
`refresh()` is awaited first.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig import Identity
from bayplan.client.tls import Certificate
from bayplan.framework import Clock

#: client-go reads a token file again after a minute at most.
TOKEN_FILE_SECONDS = 60.0
#: Certificates in files are looked at this often.
CERTIFICATE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request shows: headers, and the certificate of its connection."""

    authorization: str = ""
    certificate: Certificate | None = None

    @classmethod
    def bearer(cls, token: str, certificate: Certificate | None = None) -> Credential:
        if token and not (token.isascii() and token.isprintable() and " " not in token):
            raise AccessError("the token has characters that no token has")
        return cls(f"Bearer {token}" if token else "", certificate)


class Credentials(Protocol):
    """A source of credentials."""

    def current(self) -> Credential | None:
        """What is valid now; None where `refresh` is due."""

    async def refresh(self) -> Credential:
        """Get anew what has expired. Raises AccessError."""

    def invalidate(self, rejected: Credential) -> bool:
        """The server answered 401 to *rejected*; whether trying again could help."""


class StaticCredentials:
    """A token or password written down, or only a certificate."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def current(self) -> Credential | None:
        return self._credential

    async def refresh(self) -> Credential:
        return self._credential

    def invalidate(self, rejected: Credential) -> bool:
        return False


class TokenFileCredentials:
    """A token in a file that somebody renews: the kubelet, for a service account."""

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
            self._read_at = self._clock.monotonic()  # in the middle of being replaced: the old one still serves
            return self._credential
        self._credential = Credential.bearer(token, self._certificate)
        self._read_at = self._clock.monotonic()
        return self._credential

    def invalidate(self, rejected: Credential) -> bool:
        """Worth another try if the file has another token by now."""
        try:
            renewed = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError):
            return False
        if f"Bearer {renewed}" == rejected.authorization:
            return False
        self._read_at = -TOKEN_FILE_SECONDS
        self._credential = None
        return True


def make_credentials(identity: Identity, clock: Clock, *, server: str = "") -> Credentials:
    """The source that *identity* asks for."""
    certificate = identity.certificate
    if identity.exec is not None:
        from bayplan.client.exec_plugin import ExecCredentials

        return ExecCredentials(identity.exec, certificate, clock, server=server)
    if identity.token_file:
        return TokenFileCredentials(identity.token_file, certificate, clock)
    if identity.username:
        pair = base64.b64encode(f"{identity.username}:{identity.password}".encode()).decode()
        return StaticCredentials(Credential(f"Basic {pair}", certificate))
    return StaticCredentials(Credential.bearer(identity.token, certificate))
