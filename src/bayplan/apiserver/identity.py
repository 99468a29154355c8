"""Who the server is and who its administrator is: a serving certificate and a bearer token.

With a folder they outlive the process, so that a kubeconfig goes on working after a restart.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bayplan.server.tls import Pair, is_good_for, self_signed

_CERTIFICATE: Final = "apiserver.crt"
_KEY: Final = "apiserver.key"
_TOKEN: Final = "admin.token"  # noqa: S105  a file name
_TOKEN_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate with its key, and the token that the administrator shows."""

    pair: Pair
    token: str


def make_identity(addresses: Sequence[str]) -> Identity:
    """A new identity for a server at *addresses*."""
    return Identity(self_signed(addresses=addresses), secrets.token_urlsafe(_TOKEN_BYTES))


def identity_in(folder: Path, addresses: Sequence[str]) -> Identity:
    """The identity that is kept in *folder*; made and stored there the first time.

    The token stays for ever, the certificate while it is good for *addresses*.
    """
    files = [folder / name for name in (_CERTIFICATE, _KEY, _TOKEN)]
    token = ""
    if all(file.exists() for file in files):
        certificate, key, kept = (file.read_bytes() for file in files)
        token = kept.decode().strip()
        if is_good_for(certificate, addresses):
            return Identity(Pair(certificate, key), token)
    made = make_identity(addresses)
    identity = Identity(made.pair, token or made.token)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for file, content in zip(
        files, (identity.pair.certificate, identity.pair.key, identity.token.encode()), strict=True
    ):
        # Readable for us alone from the first byte on.
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as output:
            output.write(content)
    return identity
