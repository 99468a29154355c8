"""Certificates of a control plane that lives for one test, made with the openssl program."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_VALID = ("-days", "2")


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, PEM files both."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority in a folder; it signs what the tests ask for."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.pair = Pair(folder / f"{name}.crt", folder / f"{name}.key")
        make_key(self.pair.key)
        subject = ("-subj", f"/CN={name}")
        _openssl("req", "-x509", "-new", "-key", self.pair.key, *subject, *_VALID, "-out", self.pair.certificate)

    def client(self, file_name: str, *, user: str, groups: Sequence[str] = ()) -> Pair:
        """A certificate that Kubernetes reads as this user in these groups."""
        subject = "".join([f"/CN={user}", *(f"/O={group}" for group in groups)])
        return self._sign(file_name, subject, "extendedKeyUsage=clientAuth\n")

    def server(self, file_name: str, *, names: Sequence[str], addresses: Sequence[str] = ("127.0.0.1",)) -> Pair:
        """A certificate to serve TLS with."""
        alternatives = [*(f"DNS:{name}" for name in names), *(f"IP:{address}" for address in addresses)]
        extensions = f"extendedKeyUsage=serverAuth\nsubjectAltName={','.join(alternatives)}\n"
        return self._sign(file_name, f"/CN={names[0]}", extensions)

    def _sign(self, file_name: str, subject: str, extensions: str) -> Pair:
        pair = Pair(self._folder / f"{file_name}.crt", self._folder / f"{file_name}.key")
        request, extension_file = self._folder / f"{file_name}.csr", self._folder / f"{file_name}.ext"
        make_key(pair.key)
        extension_file.write_text(extensions)
        _openssl("req", "-new", "-key", pair.key, "-subj", subject, "-out", request)
        issuer = ("-CA", self.pair.certificate, "-CAkey", self.pair.key, "-CAcreateserial")
        _openssl(
            "x509", "-req", "-in", request, *issuer, *_VALID, "-extfile", extension_file, "-out", pair.certificate
        )
        return pair


def make_key(path: Path) -> None:
    """A private key; elliptic, because that takes no time."""
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)


def _openssl(*arguments: str | Path) -> None:
    program = shutil.which("openssl")
    if program is None:
        raise FileNotFoundError(
            "the end-to-end tests make their certificates with openssl, which is not on the PATH"
        )
    done = subprocess.run(  # noqa: S603
        [program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"openssl {arguments[0]}: {done.stdout}")
