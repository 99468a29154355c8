"""`--merge-kubeconfig`: our context comes and goes, everything of others stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import click
import pytest
import yaml

from bayplan.cli import merged_context
from bayplan.cli.merged_context import add_context, check_mergeable, remove_context, user_kubeconfig
from bayplan.client import load_access

SERVER = "https://127.0.0.1:4567"
OURS = f"""\
apiVersion: v1
kind: Config
clusters: [{{name: bayplan, cluster: {{server: "{SERVER}"}}}}]
users: [{{name: bayplan, user: {{token: t}}}}]
contexts: [{{name: bayplan, context: {{cluster: bayplan, user: bayplan}}}}]
current-context: bayplan
"""
THEIRS = """\
# Mine.
apiVersion: v1
kind: Config
clusters:
- {name: work, cluster: {server: "https://example.org"}} # do not touch
users: []
contexts:
- {name: work, context: {cluster: work, user: ""}}
current-context: work
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.write_text(THEIRS)
    path.chmod(0o644)
    return path


def test_context_works_beside_the_others(file: Path) -> None:
    """And the current context is still theirs."""
    add_context(file, OURS)
    assert load_access(str(file)).server == "https://example.org"
    access = load_access(str(file), context="bayplan")
    assert (access.server, access.auth_info.token) == (SERVER, "t")


def test_file_is_as_before_at_the_end(file: Path) -> None:
    """Only its mode has changed: it contained a token."""
    add_context(file, OURS)
    remove_context(file, SERVER)
    assert file.read_text() == THEIRS
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.listdir(file.parent) == [file.name]


def test_file_that_did_not_exist_is_private_and_does_not_stay(tmp_path: Path) -> None:
    file = tmp_path / "kube" / "config"
    add_context(file, OURS)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    remove_context(file, SERVER)
    assert not file.exists()


def test_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    """Some keep their kubeconfig elsewhere."""
    link = tmp_path / "link"
    link.symlink_to(file)
    add_context(link, OURS)
    assert link.is_symlink()
    assert load_access(str(file), context="bayplan").server == SERVER


def test_context_of_an_earlier_run_is_replaced(file: Path) -> None:
    """A process that was killed leaves it behind; also after kubectl has rewritten the file."""
    add_context(file, OURS)
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text())))
    add_context(file, OURS.replace("4567", "8901"))
    assert [each["name"] for each in yaml.safe_load(file.read_text())["clusters"]] == ["bayplan", "work"]
    assert load_access(str(file), context="bayplan").server == "https://127.0.0.1:8901"


def test_context_of_another_cluster_is_left_alone(file: Path) -> None:
    """The one that was started later, for example."""
    add_context(file, OURS)
    text = file.read_text()
    remove_context(file, "https://127.0.0.1:8901")
    assert file.read_text() == text


def test_current_context_is_unset_if_it_was_ours(file: Path) -> None:
    """kubectl would complain about a context that does not exist."""
    add_context(file, OURS)
    file.write_text(file.read_text().replace("current-context: work", "current-context: bayplan"))
    remove_context(file, SERVER)
    assert file.read_text() == THEIRS.replace("current-context: work", 'current-context: ""')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clusters: [", "is not YAML"),
        ("kind: Pod", "is a Pod, not a kubeconfig"),
        ("clusters: {}\nusers: 3", "users is not a list of named entries"),
        (
            "contexts: [{name: bayplan, context: {cluster: work}}]",
            "has a context 'bayplan' that bayplan did not add",
        ),
        ("users: [{name: bayplan, user: 3}]", "user 'bayplan' is not a mapping"),
    ],
    ids=["not YAML", "another kind", "not a list", "an entry of theirs", "not a mapping"],
)
def test_file_that_cannot_be_merged_into_is_refused(file: Path, text: str, message: str) -> None:
    """Before the cluster is started, and unchanged."""
    file.write_text(text)
    with pytest.raises(click.ClickException) as refused:
        check_mergeable(file)
    assert message in refused.value.message
    assert file.read_text() == text


def test_lock_of_kubectl_is_respected(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers at a time would lose what one of them wrote."""
    monkeypatch.setattr(merged_context, "_LOCK_SECONDS", 0.1)
    lock = file.with_name("config.lock")
    lock.touch()
    with pytest.raises(
        click.ClickException, match=r"being written by another program; if not, delete .*config\.lock"
    ):
        add_context(file, OURS)
    assert file.read_text() == THEIRS
    assert lock.exists()


def test_kubectls_rule_chooses_the_file(tmp_path: Path) -> None:
    """The first of KUBECONFIG that exists, or the last; ~/.kube/config without it."""
    first, second = tmp_path / "first", tmp_path / "second"
    env = {"HOME": str(tmp_path), "KUBECONFIG": os.pathsep.join([str(first), "", str(second)])}
    assert user_kubeconfig(env) == second
    first.touch()
    assert user_kubeconfig(env) == first
    assert user_kubeconfig({"HOME": str(tmp_path)}) == tmp_path / ".kube" / "config"
