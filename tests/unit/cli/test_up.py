"""`bayplan up`: what it is given, what it writes, what it refuses. The whole of it is in test_newcomer."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bayplan.apiserver.storage.sqlite_journal import SqliteJournal
from bayplan.cli import main
from bayplan.cli.up import MARK
from bayplan.client import HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock

NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: mine}\nstatus: {allocatable: {cpu: '2', pods: '5'}}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("node.yaml").write_text(NODE)
    Path("pod.yaml").write_text(POD)


def up(*words: str) -> Result:
    return CliRunner().invoke(main, ["up", *words])


def up_until(wanted: Callable[[dict[str, Any]], bool], path: str, *words: str) -> Result:
    """Run the command, and interrupt it when what the server has at *path* is as *wanted*."""
    kubeconfig = Path(os.environ["XDG_STATE_HOME"]) / "bayplan" / "kubeconfig"

    async def watch() -> None:
        while not kubeconfig.exists():
            await asyncio.sleep(0.05)
        client = KubeClient(HttpTransport(load_access(str(kubeconfig)), SystemClock()), SystemClock())
        while not wanted(await client.request("GET", path)):
            await asyncio.sleep(0.05)
        await client.close()
        os.kill(os.getpid(), signal.SIGINT)

    watching = threading.Thread(target=asyncio.run, args=(watch(),))
    watching.start()
    result = up(*words)
    watching.join()
    return result


def test_a_cluster_from_files() -> None:
    """Nodes and pods as they are given; a line for each decision; Ctrl-C ends it well."""
    words = ("--nodes", "node.yaml", "-f", "pod.yaml", "--plain")
    path = "/api/v1/namespaces/default/pods/p"
    result = up_until(lambda pod: bool(pod["status"]["phase"] == "Running"), path, *words)
    assert result.exit_code == 0, result.output
    assert "with 1 simulated nodes" in result.output
    assert "default/p → mine" in result.output
    assert result.output.endswith("Stopped.\n")


def test_nodes_with_devices() -> None:
    """Of both forms: a slice for each node and driver."""
    Path("nics.yaml").write_text("- {name: nic, count: 2, attributes: {speed: 100}}\n")
    words = ("--nodes", "2", "--devices", "gpu=8", "--devices", "nics.yaml", "--no-scheduler", "--plain")
    found: list[tuple[str, str, int]] = []

    def wanted(slices: dict[str, Any]) -> bool:
        specs = [each["spec"] for each in slices["items"]]
        found[:] = sorted((spec["nodeName"], spec["driver"], len(spec["devices"])) for spec in specs)
        return len(found) == 4

    result = up_until(wanted, "/apis/resource.k8s.io/v1/resourceslices", *words)

    assert result.exit_code == 0, result.output
    gpus, nics = ("gpu.bayplan.dev", 8), ("nic.bayplan.dev", 2)
    assert found == [("node-1", *gpus), ("node-1", *nics), ("node-2", *gpus), ("node-2", *nics)]


def test_the_kubeconfig_is_for_us_alone() -> None:
    """It holds a token."""
    words = ("--nodes", "1", "--no-scheduler", "--plain")
    result = up_until(lambda nodes: len(nodes["items"]) == 1, "/api/v1/nodes", *words)
    file = Path(os.environ["XDG_STATE_HOME"]) / "bayplan" / "kubeconfig"
    assert file.read_text().startswith(MARK)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert re.search(rf"export KUBECONFIG={re.escape(str(file))}$", result.output, re.MULTILINE)


def test_somebody_elses_kubeconfig_is_left_alone() -> None:
    Path("config").write_text("apiVersion: v1\nkind: Config\n")
    result = up("--write-kubeconfig", "config")
    assert result.exit_code == 1
    assert "config was not written by bayplan, so it is not overwritten" in result.output
    assert Path("config").read_text() == "apiVersion: v1\nkind: Config\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["--nodes", "pod.yaml"], "document 1 is a Pod, and only Nodes belong here", id="no nodes"),
        pytest.param(["-f", "wrong.yaml"], "wrong.yaml: object 1 has no kind", id="no object"),
        pytest.param(["-f", "odd.yaml"], 'the cluster knows no kind "Odd"', id="a kind that nobody knows"),
        pytest.param(["--plugin", "gone.py:Gone"], "gone.py: no such file", id="no plugin"),
        pytest.param(["--config", "wrong.yaml"], "wrong.yaml:1:", id="no configuration"),
        pytest.param(["-f", "broken.yaml"], "broken.yaml: not YAML: line 2: ", id="no YAML"),
        pytest.param(
            ["-f", "list.yaml"], "list.yaml: object 1 is not a Kubernetes object", id="a list of numbers"
        ),
        pytest.param(["--devices", "gpu"], "write NAME=COUNT, for example gpu=8, or the name", id="no number"),
        pytest.param(["--devices", "gone.yaml"], "'gone.yaml' does not say what devices", id="no file of devices"),
        pytest.param(["--devices", "pod.yaml"], "pod.yaml: not a list of devices", id="no devices"),
        pytest.param(
            ["--devices", "odd-devices.yaml"], "devices gpu: ResourceSlice", id="devices that nobody can have"
        ),
        pytest.param(["--data", "pod.yaml/x"], "cannot use pod.yaml/x: Not a directory", id="no folder"),
        pytest.param(
            ["--write-kubeconfig", "pod.yaml/x"], "cannot write the kubeconfig pod.yaml/x: ", id="no kubeconfig"
        ),
        pytest.param(["--host", "192.0.2.1"], "cannot serve on 192.0.2.1:0: ", id="no address of ours"),
    ],
)
def test_what_is_wrong_is_told_before_it_starts(words: list[str], told: str) -> None:
    Path("wrong.yaml").write_text("apiVersion: v1\nmetadata: {name: x}\n")
    Path("odd.yaml").write_text("apiVersion: v1\nkind: Odd\nmetadata: {name: x}\n")
    Path("broken.yaml").write_text("kind: [\n")
    Path("list.yaml").write_text("apiVersion: v1\nkind: List\nitems: [3]\n")
    Path("odd-devices.yaml").write_text("- {name: gpu, count: 1, attributes: {v: {version: new}}}\n")
    result = up("--nodes", "0", *words)
    assert result.exit_code == 1
    assert told in result.output


def test_one_process_for_a_folder() -> None:
    journal = SqliteJournal(Path("data"))
    result = up("--nodes", "0", "--data", "data")
    journal.close()
    assert (result.exit_code, result.output) == (1, "Error: cannot use data: another process uses it\n")
