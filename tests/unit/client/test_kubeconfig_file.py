"""Values of a kubeconfig file, and errors that name the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bayplan.client.certificates import Pem
from bayplan.client.errors import AccessError
from bayplan.client.kubeconfig_file import Kubeconfig, read_kubeconfig

FILE = Kubeconfig(Path("/home/u/.kube/config"), {"users": [{"name": "a", "user": {"token": 1}}, {"name": "b"}]})


def test_entries_are_found_by_name() -> None:
    assert FILE.names("users") == ["a", "b"]
    assert FILE.entry("users", "a") == {"token": 1}
    assert FILE.entry("users", "b") == {}
    assert FILE.entry("users", "c") is None


def test_paths_are_relative_to_the_file() -> None:
    assert FILE.resolve("ca.crt") == "/home/u/.kube/ca.crt"
    assert FILE.resolve("/etc/ca.crt") == "/etc/ca.crt"
    assert FILE.resolve("") == ""


def test_inline_data_wins_over_a_file() -> None:
    assert FILE.pem({"ca": "ca.crt", "ca-data": "Q0E="}, "ca", "cluster 'c'") == Pem(data=b"CA")
    assert FILE.pem({"ca": "ca.crt"}, "ca", "cluster 'c'") == Pem(file="/home/u/.kube/ca.crt")
    assert not FILE.pem({}, "ca", "cluster 'c'")


def test_impersonation_headers() -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["dev"], "as-user-extra": {"reason": ["x", "y"]}}
    assert FILE.impersonation(user, "user 'u'") == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Extra-reason", "x"),
        ("Impersonate-Extra-reason", "y"),
    )


@pytest.mark.parametrize(
    ("read", "message"),
    [
        pytest.param(
            lambda: FILE.text({}, "server", "cluster 'c'", required=True), "server is missing", id="missing"
        ),
        pytest.param(lambda: FILE.text({"a": []}, "a", "user 'u'"), "a is not a text", id="no text"),
        pytest.param(lambda: FILE.texts({"a": "x"}, "a", "user 'u'"), "a is not a list", id="no list"),
        pytest.param(lambda: FILE.pairs({"a": ["x"]}, "a", "user 'u'"), "names with values", id="no pairs"),
        pytest.param(lambda: FILE.pem({"a-data": "?"}, "a", "user 'u'"), "a-data is not base64", id="no base64"),
        pytest.param(lambda: FILE.impersonation({"as-user-extra": 1}, "user 'u'"), "not a mapping", id="extra"),
    ],
)
def test_errors_name_file_and_field(read: Any, message: str) -> None:
    with pytest.raises(AccessError, match=rf"^/home/u/\.kube/config: .*{message}"):
        read()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("- a", "is not a kubeconfig"),
        ("kind: Pod", "is a Pod, not a kubeconfig"),
        ("a: [", "is not YAML"),
    ],
)
def test_files_that_are_no_kubeconfig(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(AccessError, match=message):
        read_kubeconfig(str(path))


def test_missing_file() -> None:
    with pytest.raises(AccessError, match="cannot read the kubeconfig /no/such: No such file"):
        read_kubeconfig("/no/such")
