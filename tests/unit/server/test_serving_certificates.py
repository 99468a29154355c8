"""The serving certificate."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

import pytest

from bayplan.server.serving_certificates import (
    CertificatePair,
    ServingError,
    load_pair,
    make_context,
    pair_in,
    read_pair,
    self_signed,
    trust_clients,
)


def test_self_signed_certificate_serves() -> None:
    """It loads, and is valid for localhost and the served address."""
    from cryptography import x509

    pair = self_signed(addresses=["10.0.0.7"])
    load_pair(make_context(), pair, "self-signed")

    names = x509.load_pem_x509_certificate(pair.certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]
    assert {str(ip) for ip in names.value.get_values_for_type(x509.IPAddress)} == {"127.0.0.1", "10.0.0.7"}


def test_pair_is_kept_in_its_folder(tmp_path: Path) -> None:
    """--cert-dir: created once, then reused; only the owner can read the key."""
    folder = str(tmp_path / "new")
    files = pair_in(folder, addresses=[])
    first = read_pair(*files)

    assert files[0].endswith("kube-scheduler.crt")
    assert stat.S_IMODE(Path(files[1]).stat().st_mode) == 0o600
    assert read_pair(*pair_in(folder, addresses=[])) == first


def test_versions_and_ciphers_are_chosen() -> None:
    """TLS 1.2 is the default minimum; cipher suites have Go's names."""
    assert make_context().minimum_version is ssl.TLSVersion.TLSv1_2
    context = make_context(min_version="VersionTLS13", ciphers=["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"])

    assert context.minimum_version is ssl.TLSVersion.TLSv1_3
    old = {each["name"] for each in context.get_ciphers() if each["protocol"] == "TLSv1.2"}
    assert old == {"ECDHE-RSA-AES128-GCM-SHA256"}


def test_unusable_files_are_named(tmp_path: Path) -> None:
    """The message names the file and the problem."""
    with pytest.raises(ServingError, match=r"cannot read the serving certificate: .*none\.crt"):
        read_pair(str(tmp_path / "none.crt"), "")
    with pytest.raises(ServingError, match="cannot be used: some file"):
        load_pair(make_context(), CertificatePair(b"no", b"pem"), "some file")
    with pytest.raises(ServingError, match="client certificate authority cannot be used: some file"):
        trust_clients(make_context(), "no pem", "some file")
    (tmp_path / "file").touch()
    with pytest.raises(ServingError, match="cannot store the self-signed certificate"):
        pair_in(str(tmp_path / "file" / "below"), addresses=[])
