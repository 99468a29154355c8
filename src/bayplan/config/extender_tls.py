"""Validates the TLS settings of extenders, as kube-scheduler does when it creates the transport."""

from __future__ import annotations

import pathlib
import ssl
import tempfile

from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError
from bayplan.config.types import Extender, ExtenderTLSConfig


def tls_errors(extenders: tuple[Extender, ...], path: Path) -> list[FieldError]:
    """Unreadable files, invalid certificates, contradictory settings."""
    errors = []
    for i, extender in enumerate(extenders):
        if extender.tls_config is not None:
            errors += _extender_errors(extender, extender.tls_config, path / i / "tlsConfig")
    return errors


def _extender_errors(extender: Extender, tls: ExtenderTLSConfig, path: Path) -> list[FieldError]:
    has_ca = bool(tls.ca_file or tls.ca_data)
    has_certificate = bool((tls.cert_file or tls.cert_data) and (tls.key_file or tls.key_data))
    # HTTPS without a certificate authority is not verified: upstream sets insecure.
    insecure = tls.insecure or (extender.enable_https and not has_ca)
    if not (has_ca or has_certificate or insecure or tls.server_name):
        return []  # the settings are not used
    if has_ca and insecure:
        message = "insecure and a certificate authority contradict each other"
        return [FieldError(path / "insecure", message, "remove insecure, or caFile and caData")]
    errors: list[FieldError] = []
    authority = _read(tls.ca_data, tls.ca_file, path / "caFile", errors)
    certificate = _read(tls.cert_data, tls.cert_file, path / "certFile", errors)
    key = _read(tls.key_data, tls.key_file, path / "keyFile", errors)
    if errors:
        return errors
    if has_ca and authority and not _is_authority(authority):
        where = path / ("caData" if tls.ca_data else "caFile")
        errors.append(FieldError(where, "contains no valid certificate"))
    # A pair of files is read for every connection, so it is not checked here.
    if has_certificate and (tls.cert_data or tls.key_data) and not _is_pair(certificate, key):
        where = path / ("certData" if tls.cert_data else "keyData")
        errors.append(FieldError(where, "certificate and key are invalid or do not match"))
    return errors


def _read(data: bytes, file: str, path: Path, errors: list[FieldError]) -> bytes:
    if data or not file:
        return data
    try:
        return pathlib.Path(file).read_bytes()
    except OSError as error:
        errors.append(FieldError(path, f"{file} cannot be read: {(error.strerror or str(error)).lower()}"))
        return b""


def _is_authority(pem: bytes) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=pem.decode("ascii", "replace"))
    except (ssl.SSLError, ValueError):
        return False
    return True


def _is_pair(certificate: bytes, key: bytes) -> bool:
    with tempfile.TemporaryDirectory() as directory:
        cert_file, key_file = pathlib.Path(directory, "cert"), pathlib.Path(directory, "key")
        cert_file.write_bytes(certificate)
        key_file.write_bytes(key)
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert_file, key_file, password="")
        except (ssl.SSLError, ValueError, OSError):
            return False
    return True
