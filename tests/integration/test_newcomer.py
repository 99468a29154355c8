"""A newcomer's hour, by the guide: its commands in its order, real processes, a real port; told with times."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.client import HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "first-plugin.md"
PODS = "/api/v1/namespaces/default/pods"
PATIENCE_SECONDS = 120.0


def guide_commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```$", GUIDE.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


class Terminal:
    """Where the newcomer types; a clock runs beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kubeconfig = folder / "state" / "bayplan" / "kubeconfig"
        self._env = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_STATE_HOME": str(folder / "state"),
            "PYTHONUNBUFFERED": "1",
        }
        self._log = folder / "up.log"
        self._up: subprocess.Popen[bytes] | None = None
        self.times: list[tuple[str, float]] = []

    def type(self, command: str) -> None:
        start = time.perf_counter()
        words = shlex.split(command)
        if words[0] == "cd":
            self.folder = self.folder / words[1]
        elif words[:2] == ["bayplan", "up"]:
            self._start_up(words)
        elif words[0] == "kubectl":
            asyncio.run(kubectl(self.kubeconfig, words[1:]))
            time.sleep(0.5)  # nobody types faster, and watches of two kinds have no order between them
        else:
            done = subprocess.run(  # noqa: S603  commands of our own guide
                words, cwd=self.folder, env=self._env, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        self.times.append((command, time.perf_counter() - start))

    def _start_up(self, words: list[str]) -> None:
        with self._log.open("wb") as log:
            self._up = subprocess.Popen(  # noqa: S603
                words, cwd=self.folder, env=self._env, stdout=log, stderr=subprocess.STDOUT
            )
        self.until(lambda: "The cluster is up" in self.seen())

    def seen(self) -> str:
        """What the first terminal shows."""
        return self._log.read_text()

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert self._up is not None
            assert self._up.poll() is None, self.seen()
            assert time.monotonic() < end, self.seen()
            time.sleep(0.05)

    def leave(self) -> int | None:
        """Ctrl-C; the exit status."""
        if self._up is None:
            return None
        self._up.send_signal(signal.SIGINT)
        return self._up.wait(PATIENCE_SECONDS)


async def with_client(kubeconfig: Path, work: Callable[[KubeClient], Awaitable[Any]]) -> Any:
    clock = SystemClock()
    client = KubeClient(HttpTransport(load_access(str(kubeconfig)), clock), clock)
    try:
        return await work(client)
    finally:
        await client.close()


async def kubectl(kubeconfig: Path, words: list[str]) -> Any:
    """The few of its commands that the guide has."""

    async def work(client: KubeClient) -> Any:
        if words[:2] == ["label", "node"]:
            key, _, value = words[3].partition("=")
            return await client.request(
                "PATCH", f"/api/v1/nodes/{words[2]}", {"metadata": {"labels": {key: value}}}
            )
        assert words[0] == "run", words
        container = {"name": words[1], "image": words[2].removeprefix("--image=")}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": words[1]},
            "spec": {"containers": [container]},
        }
        return await client.request("POST", PODS, pod)

    return await with_client(kubeconfig, work)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    opened = Terminal(tmp_path)
    yield opened
    opened.leave()


def test_the_guide_from_its_first_command_to_its_last(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scaffold, edit, check, test, `up`, a pod placed by the plugin, and another after an edit while it runs."""
    commands = guide_commands()
    assert [each.split()[:2] for each in commands[:2]] == [["bayplan", "plugin"], ["cd", "prefer-ssd"]]
    for command in commands:
        terminal.type(command)
        if command.startswith("bayplan up"):
            terminal.until(lambda: "default/first → " in terminal.seen())
    terminal.until(lambda: "default/third → " in terminal.seen())

    assert "default/second → node-2" in terminal.seen()
    assert "prefer_ssd.py: reloaded" in terminal.seen()
    assert "default/third → node-3" in terminal.seen()
    assert terminal.leave() == 0
    assert "Stopped." in terminal.seen()
    with capsys.disabled():
        print()
        for command, seconds in terminal.times:
            print(f"{seconds:6.1f} s  {command}")
        print(f"{sum(seconds for _, seconds in terminal.times):6.1f} s  in all")
