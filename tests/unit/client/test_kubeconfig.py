"""Kubeconfig files: what is read, and what is complained about."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan.client import AccessError, load_access
from bayplan.client.certificates import Pem

CLUSTER: dict[str, Any] = {
    "server": "https://api:6443/",
    "certificate-authority-data": base64.b64encode(b"CA").decode(),
}


def config(
    user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": CLUSTER if cluster is None else cluster}],
        "users": [{"name": "u", "user": user or {}}],
        **more,
    }


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(content: object, name: str = "config") -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return str(path)

    return write


def test_data_wins_over_files_and_paths_are_relative(write: Any, tmp_path: Path) -> None:
    access = load_access(
        write(
            config(
                {"client-certificate": "client.crt", "client-key": "/abs/client.key"},
                {**CLUSTER, "certificate-authority": "ca.crt", "tls-server-name": "kubernetes"},
            )
        )
    )
    assert access.server == "https://api:6443"
    assert access.trust.ca == Pem(data=b"CA")
    assert access.trust.server_name == "kubernetes"
    certificate = access.auth_info.certificate
    assert certificate is not None
    assert certificate.certificate.file == str(tmp_path / "client.crt")
    assert certificate.key.file == "/abs/client.key"


def test_token_file_wins_over_token(write: Any, tmp_path: Path) -> None:
    auth_info = load_access(write(config({"token": "t", "tokenFile": "token"}))).auth_info
    assert (auth_info.token, auth_info.token_file) == ("", str(tmp_path / "token"))
    assert load_access(write(config({"token": 1234}))).auth_info.token == str(1234)


def test_exec_plugin_with_its_surroundings(write: Any) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "get-token",
        "args": ["--cluster", "x"],
        "env": [{"name": "A", "value": "b"}],
        "installHint": "install it",
        "interactiveMode": "IfAvailable",
    }
    found = load_access(write(config({"exec": plugin}))).auth_info.exec
    assert found is not None
    assert (found.command, found.args, found.env) == ("get-token", ("--cluster", "x"), (("A", "b"),))


def test_impersonation_becomes_headers(write: Any) -> None:
    user = {"as": "jane", "as-groups": ["g1", "g2"], "as-user-extra": {"scopes": ["view"]}}
    assert load_access(write(config(user))).auth_info.impersonate == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Group", "g1"),
        ("Impersonate-Group", "g2"),
        ("Impersonate-Extra-scopes", "view"),
    )


def test_another_context_and_another_server(write: Any) -> None:
    content = config()
    content["contexts"].append({"name": "there", "context": {"cluster": "d"}})
    content["clusters"].append({"name": "d", "cluster": {"server": "http://d"}})
    assert load_access(write(content), context="there").server == "http://d"
    assert load_access(write(content), master="https://elsewhere:1").server == "https://elsewhere:1"


def test_several_files_are_one(write: Any) -> None:
    first = write({"current-context": "here", "contexts": config()["contexts"]}, "first")
    second = write({"clusters": config()["clusters"], "users": config()["users"]}, "second")
    access = load_access(environ={"KUBECONFIG": f"{first}:/missing:{second}"})
    assert access.server == "https://api:6443"


def test_service_account_inside_a_pod(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text("CA")
    env = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = load_access(environ=env, service_account=tmp_path)
    assert access.server == "https://[fd00::1]:443"
    assert access.auth_info.token_file == str(tmp_path / "token")
    assert access.trust.ca.file == str(tmp_path / "ca.crt")


def test_master_alone(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path)}
    assert load_access(master="127.0.0.1:8080", environ=env).server == "http://127.0.0.1:8080"
    with pytest.raises(AccessError, match="no cluster to talk to"):
        load_access(environ=env)


REFUSED: dict[str, tuple[object, str]] = {
    "not YAML": ("a: [", "is not YAML"),
    "empty": ("", "is empty"),
    "another kind": ({"kind": "Pod"}, "is a Pod, not a kubeconfig"),
    "no context": ({**config(), "current-context": ""}, "there is no current-context"),
    "unknown context": ({**config(), "current-context": "x"}, "there is no context 'x'; there are: here"),
    "unknown user": (
        config(users=[]),
        "context 'here' refers to the user 'u', which does not exist; there are none",
    ),
    "no server": (config(cluster={"certificate-authority": "x"}), "cluster 'c': server is missing"),
    "proxy": (config(cluster={**CLUSTER, "proxy-url": "http://p"}), "cluster 'c': proxy-url is not supported"),
    "odd server": (config(cluster={"server": "ftp://x"}), "is not an http or https address"),
    "bad base64": (config(cluster={"server": "https://x", "certificate-authority-data": "*"}), "is not base64"),
    "insecure with CA": (config(cluster={**CLUSTER, "insecure-skip-tls-verify": True}), "exclude each other"),
    "key missing": (config({"client-certificate": "x"}), "user 'u': client-key .* is missing"),
    "auth provider": (config({"auth-provider": {"name": "gcp"}}), "use an exec plugin"),
    "exec version": (config({"exec": {"apiVersion": "v9", "command": "x"}}), "apiVersion 'v9' is not known"),
    "exec command": (
        config({"exec": {"apiVersion": "client.authentication.k8s.io/v1"}}),
        "user 'u': exec: command is missing",
    ),
    "interactive": (
        config(
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "x",
                    "interactiveMode": "Always",
                }
            }
        ),
        "no terminal",
    ),
    "users not a list": (config(users={"u": {}}), "users is not a list"),
}


@pytest.mark.parametrize(("content", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_complaints_name_file_and_place(write: Any, content: object, message: str) -> None:
    path = write(content)
    with pytest.raises(AccessError, match=message) as refused:
        load_access(path)
    assert path in str(refused.value)


def test_missing_file() -> None:
    with pytest.raises(AccessError, match=r"cannot read the kubeconfig /no/such: No such file"):
        load_access("/no/such")
