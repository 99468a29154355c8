"""Credentials that are renewed: token files and exec plugins."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bayplan.client.credentials import (
    Credential,
    ExecCredentials,
    TokenFileCredentials,
    credential_source,
    static_credential,
)
from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig import AuthInfo, ExecPlugin
from bayplan.testing import VirtualClock

TOKEN, PASSWORD = "t", "p"
V1 = "client.authentication.k8s.io/v1"


def test_static_credentials() -> None:
    assert static_credential(AuthInfo(token=TOKEN)) == Credential("Bearer t")
    assert static_credential(AuthInfo(username="u", password=PASSWORD)) == Credential("Basic dTpw")
    assert static_credential(AuthInfo()) == Credential()


def test_only_what_expires_has_a_source() -> None:
    clock = VirtualClock()
    assert credential_source(AuthInfo(token=TOKEN), clock) is None
    assert isinstance(credential_source(AuthInfo(token_file="/token"), clock), TokenFileCredentials)  # noqa: S106
    assert isinstance(credential_source(AuthInfo(exec=ExecPlugin("aws", V1)), clock), ExecCredentials)


def test_token_with_a_line_break_is_refused() -> None:
    with pytest.raises(AccessError):
        static_credential(AuthInfo(token=f"{TOKEN}\r\nX: y"))


@pytest.mark.asyncio
async def test_token_file_is_read_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", VirtualClock()
    path.write_text("one\n")
    credentials = TokenFileCredentials(str(path), None, clock)
    assert credentials.current() is None
    assert (await credentials.refresh()).authorization == "Bearer one"
    path.write_text("two")
    assert credentials.current() == Credential("Bearer one")
    clock.advance(61)
    assert credentials.current() is None
    assert (await credentials.refresh()).authorization == "Bearer two"


@pytest.mark.asyncio
async def test_token_file_keeps_the_old_token_while_it_is_replaced(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", VirtualClock()
    with pytest.raises(AccessError, match="cannot read the token file"):
        await TokenFileCredentials(str(path), None, clock).refresh()
    path.write_text("one")
    credentials = TokenFileCredentials(str(path), None, clock)
    await credentials.refresh()
    path.unlink()
    clock.advance(61)
    assert (await credentials.refresh()).authorization == "Bearer one"


@pytest.mark.asyncio
async def test_refused_token_is_retried_if_the_file_has_another(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")
    credentials = TokenFileCredentials(str(path), None, VirtualClock())
    shown = await credentials.refresh()
    assert not credentials.invalidate(shown)
    path.write_text("two")
    assert credentials.invalidate(shown)
    assert (credentials.current() or await credentials.refresh()).authorization == "Bearer two"


# --- exec plugins -----------------------------------------------------------------------------------------


def plugin(code: str, **more: Any) -> ExecPlugin:
    return ExecPlugin(sys.executable, V1, ("-c", code), **more)


def printing(status: dict[str, Any] | None, api_version: str = V1) -> str:
    answer = {"apiVersion": api_version, "kind": "ExecCredential", "status": status}
    return f"print({msgspec.json.encode(answer).decode()!r})"


@pytest.mark.asyncio
async def test_exec_plugin_gives_a_token_until_it_expires() -> None:
    clock = VirtualClock(start=1_800_000_000)  # 2027-01-15T08:00:00Z
    status = {"token": "t", "expirationTimestamp": "2027-01-15T08:01:00Z"}
    credentials = ExecCredentials(plugin(printing(status)), None, clock)
    assert credentials.current() is None
    assert (await credentials.refresh()).authorization == "Bearer t"
    assert credentials.current() is not None
    clock.advance(55)
    assert credentials.current() is None


@pytest.mark.asyncio
async def test_exec_plugin_gives_a_certificate() -> None:
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
    credential = await ExecCredentials(plugin(printing(status)), None, VirtualClock()).refresh()
    assert credential.authorization == ""
    assert credential.certificate is not None
    assert (credential.certificate.certificate.data, credential.certificate.key.data) == (b"CERT", b"KEY")


@pytest.mark.asyncio
async def test_exec_plugin_is_told_what_we_want() -> None:
    code = (
        "import json, os\ninfo = json.loads(os.environ['KUBERNETES_EXEC_INFO'])\n"
        "assert not info['spec']['interactive'] and os.environ['MORE'] == 'yes'\n"
        "print(json.dumps({'apiVersion': info['apiVersion'], 'kind': info['kind'],"
        " 'status': {'token': info['spec']['cluster']['server']}}))"
    )
    told = plugin(
        code, env=(("MORE", "yes"),), provide_cluster_info=True, cluster_config={"server": "https://api"}
    )
    assert (await ExecCredentials(told, None, VirtualClock()).refresh()).authorization == "Bearer https://api"


@pytest.mark.asyncio
async def test_refused_exec_credential_is_asked_for_anew() -> None:
    credentials = ExecCredentials(plugin(printing({"token": "t"})), None, VirtualClock())
    shown = await credentials.refresh()
    assert credentials.invalidate(shown)
    assert credentials.current() is None


FAULTS = {
    "exit code": (plugin("import sys; print('who are you', file=sys.stderr); sys.exit(3)"), "code 3: who are you"),
    "no JSON": (plugin("print('hello')"), "did not print an ExecCredential"),
    "other version": (plugin(printing({"token": "t"}, "v0")), "not ExecCredential of"),
    "nothing": (plugin(printing({})), "neither a token nor a certificate"),
    "half": (plugin(printing({"clientCertificateData": "x"})), "certificate without its key"),
    "odd expiry": (plugin(printing({"token": "t", "expirationTimestamp": "soon"})), "expirationTimestamp 'soon'"),
    "not installed": (ExecPlugin("/no/such", V1, install_hint="get it here"), r"No such file[^\n]*\nget it here"),
}


@pytest.mark.parametrize(("faulty", "message"), FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.asyncio
async def test_exec_plugin_faults(faulty: ExecPlugin, message: str) -> None:
    with pytest.raises(AccessError, match=message):
        await ExecCredentials(faulty, None, VirtualClock()).refresh()
