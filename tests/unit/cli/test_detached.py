"""`bayplan up --detach`, `status` and `down`: real processes, found again by id and start time."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner, Result

from bayplan.cli import detached, main
from bayplan.cli.detached import DetachedCluster, load
from bayplan.cli.private_files import write_private

NOTHING = "No cluster is running in the background."


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    yield
    cluster = load()
    if cluster is not None and cluster.is_running and cluster.pid != os.getpid():
        os.kill(cluster.pid, signal.SIGKILL)


def bayplan(*words: str) -> Result:
    return CliRunner().invoke(main, words)


def store(pid: int, started: str) -> DetachedCluster:
    cluster = DetachedCluster(
        pid=pid,
        started=started,
        since="",
        server="https://127.0.0.1:1",
        kubeconfig="k",
        log="/tmp/up.log",  # noqa: S108
    )
    write_private(detached._file(), msgspec.json.encode(cluster).decode())
    return cluster


def test_from_up_to_down() -> None:
    """With everything that is written on the way, and nothing of it left in the user's kubeconfig."""
    Path("pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    started = bayplan(
        "up", "--nodes", "2", "--plugin-timeout=5s", "-f", "pod.yaml", "--merge-kubeconfig", "--detach"
    )
    assert started.exit_code == 0, started.output
    cluster = load()
    assert cluster is not None
    assert f"The cluster is up at {cluster.server} in the background (process {cluster.pid})." in started.output
    assert stat.S_IMODE(detached._file().stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(cluster.log).stat().st_mode) == 0o600
    assert yaml.safe_load(Path("kubeconfig").read_text())["contexts"][0]["name"] == "bayplan"

    again = bayplan("up", "--detach")
    assert (again.exit_code, again.output) == (
        1,
        f"Error: a cluster is running in the background (process {cluster.pid}, {cluster.server}); "
        "stop it first: bayplan down\n",
    )
    status = bayplan("status")
    assert status.exit_code == 0
    assert f"The cluster at {cluster.server} is running, with 2 nodes and 1 pods" in status.output
    assert f"context     bayplan in {Path('kubeconfig').absolute()}" in status.output

    stopped = bayplan("down")
    assert stopped.output == f"Stopped the cluster at {cluster.server} (process {cluster.pid}).\n"
    assert not cluster.is_running
    assert not Path("kubeconfig").exists()
    assert bayplan("status").output.startswith(NOTHING)
    os.waitpid(cluster.pid, 0)


def test_killed_cluster_is_tidied_up(tmp_path: Path) -> None:
    """Its context is removed from the user's kubeconfig, which it could not do itself."""
    assert bayplan("up", "--nodes", "0", "--merge-kubeconfig", "--detach").exit_code == 0
    cluster = load()
    assert cluster is not None
    os.kill(cluster.pid, signal.SIGKILL)
    os.waitpid(cluster.pid, 0)

    status = bayplan("status")
    assert (status.exit_code, status.output) == (
        1,
        f"The cluster of process {cluster.pid} has ended by itself. Its log: {cluster.log}\n"
        "bayplan down tidies up after it.\n",
    )
    down = bayplan("down")
    assert (down.exit_code, down.output) == (
        0,
        f"{NOTHING[:-1]}: the process {cluster.pid} has ended by itself. Its log: {cluster.log}\n",
    )
    assert not Path("kubeconfig").exists()


def test_cluster_that_does_not_start_says_why() -> None:
    """The end of its log is the message, and nothing counts as running."""
    result = bayplan("up", "--nodes", "missing.yaml", "--detach")
    assert result.exit_code == 1
    assert result.output.startswith("Error: the cluster did not start:\nError: missing.yaml: cannot be read")
    assert load() is None


def test_nothing_to_stop_and_nothing_to_show() -> None:
    """`down` is content with that, `status` is not."""
    down, status = bayplan("down"), bayplan("status")
    assert (down.exit_code, down.output) == (0, f"{NOTHING}\n")
    assert (status.exit_code, status.output) == (1, f"{NOTHING} Start one with: bayplan up --detach\n")


def test_process_that_got_the_id_later_is_not_touched() -> None:
    """This very process has the id, but was not started at that time."""
    store(os.getpid(), "1")
    assert "has ended by itself" in bayplan("down").output
    assert load() is None


def test_own_process_is_known_by_its_start() -> None:
    assert store(os.getpid(), detached._started(os.getpid())).is_running
    assert detached._started(2**22 + 1) == ""


def test_cluster_that_does_not_respond_is_told() -> None:
    """The process runs, but nobody listens at its address."""
    cluster = store(os.getpid(), detached._started(os.getpid()))
    Path("k").write_text(
        "kind: Config\nclusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\ncurrent-context: c\n"
        "contexts: [{name: c, context: {cluster: c}}]\n"
    )
    result = bayplan("status")
    assert result.exit_code == 1
    assert f"The cluster at {cluster.server} is running, but it does not respond: " in result.output


def test_damaged_file_is_named() -> None:
    write_private(detached._file(), "{")
    result = bayplan("status")
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {detached._file()} is damaged (")
    assert "delete it" in result.output
    detached._file().unlink()
