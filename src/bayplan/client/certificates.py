"""Certificates of TLS connections: which servers we trust, and the client certificate that we present."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bayplan.client.errors import AccessError


@dataclass(frozen=True, slots=True)
class Pem:
    """A PEM text, inline or in a file that may be replaced; none if both are empty."""

    data: bytes = b""
    file: str = ""

    def __bool__(self) -> bool:
        return bool(self.data or self.file)

    def read(self, what: str) -> bytes:
        if self.data:
            return self.data
        try:
            return Path(self.file).read_bytes()
        except OSError as error:
            raise AccessError(f"cannot read the {what}: {self.file}: {error.strerror}") from None

    def version(self) -> object:
        """Changes when the file is replaced."""
        if self.data or not self.file:
            return self.data
        with contextlib.suppress(OSError):
            stat = os.stat(self.file)
            return (self.file, stat.st_mtime_ns, stat.st_size, stat.st_ino)
        return self.file


@dataclass(frozen=True, slots=True)
class Certificate:
    """A client certificate with its key."""

    certificate: Pem
    key: Pem

    def version(self) -> object:
        return (self.certificate.version(), self.key.version())


@dataclass(frozen=True, slots=True)
class Trust:
    """How the server's certificate is verified."""

    ca: Pem = Pem()
    insecure: bool = False
    #: The name on the server's certificate, where it is not the one in the URL.
    server_name: str = ""


def make_context(
    trust: Trust, certificate: Certificate | None, protocols: Sequence[str] = ("http/1.1",)
) -> ssl.SSLContext:
    """A context for connections to the API server that speak one of *protocols*. Raises AccessError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(list(protocols))
    if trust.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif trust.ca:
        _load_ca(context, trust.ca)
    else:
        context.load_default_certs()
    if certificate is not None:
        _load_certificate(context, certificate)
    return context


def _load_ca(context: ssl.SSLContext, ca: Pem) -> None:
    where = ca.file or "certificate-authority-data"
    try:
        context.load_verify_locations(cadata=ca.read("certificate authority").decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        raise AccessError(f"the certificate authority cannot be used: {where}: {error}") from None


def _load_certificate(context: ssl.SSLContext, certificate: Certificate) -> None:
    where = certificate.certificate.file or "client-certificate-data"
    pem = certificate.certificate.read("client certificate")
    key = certificate.key.read("client key")
    with _private_file(pem + b"\n" + key) as path:
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=lambda: b"")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise AccessError(f"the client certificate and its key cannot be used: {where}: {error}") from None


@contextlib.contextmanager
def _private_file(content: bytes) -> Iterator[str]:
    """A temporary file that only we can read: the `ssl` module loads keys from files only."""
    handle, path = tempfile.mkstemp(prefix="bayplan-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        yield path
    finally:
        os.unlink(path)
