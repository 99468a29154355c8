"""Certificates: where they are read from, and how a TLS context uses them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from tests.integration.scripted_server import ca_pem, client_certificate

from bayplan.client.certificates import Certificate, Pem, Trust, make_context
from bayplan.client.errors import AccessError


def test_context_verifies_servers_unless_told_otherwise() -> None:
    trusting, insecure = make_context(Trust(ca_pem()), None), make_context(Trust(insecure=True), None)
    assert (trusting.verify_mode, trusting.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert len(trusting.get_ca_certs()) == 1
    assert (insecure.verify_mode, insecure.check_hostname) == (ssl.CERT_NONE, False)


def test_version_changes_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    pem = Pem(file=str(file))
    missing = pem.version()
    file.write_bytes(b"one")
    first = pem.version()
    file.write_bytes(b"three")
    assert len({missing, first, pem.version()}) == 3
    assert pem.read("certificate authority") == b"three"


def test_inline_data_has_one_version() -> None:
    certificate = client_certificate()
    assert certificate.version() == certificate.version()
    assert Pem(data=b"x")
    assert not Pem()


@pytest.mark.parametrize(
    ("trust", "certificate", "message"),
    [
        pytest.param(
            Trust(Pem(file="/no/such")), None, "cannot read the certificate authority: /no/such", id="file"
        ),
        pytest.param(Trust(Pem(data=b"nonsense")), None, "certificate authority cannot be used", id="authority"),
        pytest.param(
            Trust(),
            Certificate(Pem(data=b"no"), Pem(data=b"no")),
            "client certificate and its key",
            id="certificate",
        ),
    ],
)
def test_unusable_certificates_are_named(trust: Trust, certificate: Certificate | None, message: str) -> None:
    with pytest.raises(AccessError, match=message):
        make_context(trust, certificate)


def test_client_certificate_is_loaded_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is written to a temporary file for OpenSSL, and removed at once."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make_context(Trust(ca_pem()), client_certificate())
    assert list(tmp_path.iterdir()) == []
