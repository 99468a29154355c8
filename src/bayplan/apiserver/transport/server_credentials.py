"""Credentials of the server and its administrator: a serving certificate and a bearer token.

Stored in a folder they survive the process, so that a kubeconfig still works after a restart.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayplan.server.serving_certificates import CertificatePair, is_good_for, self_signed

_CERTIFICATE: Final = "apiserver.crt"
_KEY: Final = "apiserver.key"
_TOKEN: Final = "admin.token"  # noqa: S105  a file name
_TOKEN_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class ServerCredentials:
    """A certificate with its key, and the administrator's token."""

    pair: CertificatePair
    token: str


def make_credentials(addresses: Sequence[str]) -> ServerCredentials:
    """New credentials for a server at *addresses*."""
    return ServerCredentials(self_signed(addresses=addresses), secrets.token_urlsafe(_TOKEN_BYTES))


def credentials_in(folder: Path, addresses: Sequence[str]) -> ServerCredentials:
    """The credentials stored in *folder*; created and stored there the first time.

    The token never changes; the certificate is reused while it is valid for *addresses*.
    """
    files = [folder / name for name in (_CERTIFICATE, _KEY, _TOKEN)]
    token = ""
    if all(file.exists() for file in files):
        certificate, key, kept = (file.read_bytes() for file in files)
        token = kept.decode().strip()
        if is_good_for(certificate, addresses):
            return ServerCredentials(CertificatePair(certificate, key), token)
    made = make_credentials(addresses)
    credentials = ServerCredentials(made.pair, token or made.token)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for file, content in zip(
        files, (credentials.pair.certificate, credentials.pair.key, credentials.token.encode()), strict=True
    ):
        # Readable only by the owner from the first byte on.
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
            output.write(content)
    return credentials
