"""The serving certificate, and the certificate authorities of clients."""

from __future__ import annotations

import ipaddress
import os
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

#: The pair's name in --cert-dir, as in kube-scheduler.
PAIR_NAME: Final = "kube-scheduler"
VERSIONS: Final = {
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
#: Go's names of the TLS 1.2 cipher suites → OpenSSL's. Those of TLS 1.3 cannot be configured, as in Go.
CIPHERS: Final = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
}
TLS13_CIPHERS: Final = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
_DAYS: Final = 365


class ServingError(Exception):
    """The server cannot start; the message says why and names the file."""


@dataclass(frozen=True, slots=True)
class CertificatePair:
    """A certificate with its key, both PEM."""

    certificate: bytes
    key: bytes


def make_context(*, min_version: str = "", ciphers: Sequence[str] = ()) -> ssl.SSLContext:
    """A context without a certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[min_version or "VersionTLS12"]
    context.set_alpn_protocols(["http/1.1"])
    chosen = [CIPHERS[name] for name in ciphers if name in CIPHERS]
    if chosen:
        context.set_ciphers(":".join(chosen))
    return context


def load_pair(context: ssl.SSLContext, pair: CertificatePair, where: str) -> None:
    """Serve new connections with *pair*."""
    # Python only loads keys from files; this one is readable only by its owner and deleted at once.
    handle, path = tempfile.mkstemp(prefix="bayplan-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(pair.certificate + b"\n" + pair.key)
        context.load_cert_chain(path, password=lambda: b"")
    except (ssl.SSLError, ValueError) as error:
        raise ServingError(f"the serving certificate and its key cannot be used: {where}: {error}") from None
    finally:
        os.unlink(path)


def trust_clients(context: ssl.SSLContext, authorities: str, where: str) -> None:
    """Accept, but do not require, client certificates signed by one of *authorities* (PEM)."""
    try:
        context.load_verify_locations(cadata=authorities)
    except (ssl.SSLError, ValueError) as error:
        raise ServingError(f"the client certificate authority cannot be used: {where}: {error}") from None
    context.verify_mode = ssl.CERT_OPTIONAL


def read_pair(certificate: str, key: str) -> CertificatePair:
    try:
        return CertificatePair(Path(certificate).read_bytes(), Path(key).read_bytes())
    except OSError as error:
        raise ServingError(f"cannot read the serving certificate: {error.filename}: {error.strerror}") from None


def pair_in(folder: str, *, addresses: Sequence[str]) -> tuple[str, str]:
    """The files of the pair in *folder*, created there if there are none."""
    certificate, key = Path(folder, f"{PAIR_NAME}.crt"), Path(folder, f"{PAIR_NAME}.key")
    if not (certificate.exists() and key.exists()):
        pair = self_signed(addresses=addresses)
        try:
            certificate.parent.mkdir(parents=True, exist_ok=True)
            certificate.write_bytes(pair.certificate)
            with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(pair.key)
        except OSError as error:
            raise ServingError(
                f"cannot store the self-signed certificate: {error.filename}: {error.strerror}"
            ) from None
    return str(certificate), str(key)


def self_signed(*, addresses: Sequence[str]) -> CertificatePair:
    """A self-signed certificate for localhost and *addresses*, which may be names."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID

    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"localhost@{int(now.timestamp())}")])
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(each)) if _is_ip(each) else x509.DNSName(each)
        for each in sorted({"localhost", "127.0.0.1", *addresses})
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return CertificatePair(certificate.public_bytes(pem), private)


def is_good_for(certificate: bytes, addresses: Sequence[str]) -> bool:
    """Whether a certificate (PEM) names all of *addresses*, and is valid for another day."""
    from cryptography import x509

    try:
        read = x509.load_pem_x509_certificate(certificate)
        names = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    known = {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}
    return known.issuperset(addresses) and read.not_valid_after_utc > datetime.now(UTC) + timedelta(days=1)


def _is_ip(address: str) -> bool:
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True
