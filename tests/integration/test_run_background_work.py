"""Background work of a plugin in `bayplan run`: it runs, fails by name, and ends at a reload and at the end."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.integration.bayplan_process import ended, started, until, until_logged

from bayplan import Cluster

pytestmark = pytest.mark.asyncio

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: %(elect)s}
profiles:
- plugins: {multiPoint: {enabled: [{name: Prices}]}}
"""
#: Notes its life in a file beside it.
PLUGIN = """
from pathlib import Path

from bayplan import Plugin

LIFE = Path(__file__).with_name("life")


class Prices(Plugin):
    name = "Prices"
    version = 1

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.handle.spawn(self._poll)
        self.handle.spawn(self._fail(), name="first prices")

    def _note(self, text):
        with LIFE.open("a") as file:
            file.write(f"{self.version} {text}\\n")

    async def _poll(self):
        self._note("polls")
        try:
            await self.handle.clock.sleep(100000)
        finally:
            self._note("poll ended")

    async def _fail(self):
        raise ValueError("no such market")

    def filter(self, state, pod, node):
        return None

    async def close(self):
        await self.handle.clock.sleep(0)
        self._note("closed")
"""
RUN = ("run", "--secure-port=0", "--kubeconfig", "kubeconfig", "--config", "scheduler.yaml")
WITH_PLUGIN = ("--plugin", "prices.py:Prices")


def life(folder: Path) -> list[str]:
    file = folder / "life"
    return file.read_text().splitlines() if file.exists() else []


@asynccontextmanager
async def cluster_for(folder: Path, *, elect: str = "false") -> AsyncIterator[Cluster]:
    """A cluster without a scheduler; the files that one needs for it are in *folder*."""
    (folder / "prices.py").write_text(PLUGIN)
    (folder / "scheduler.yaml").write_text(CONFIGURATION % {"elect": elect})
    async with Cluster(1, scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        (folder / "kubeconfig").write_text(cluster.address.kubeconfig())
        yield cluster


@pytest.mark.parametrize("elect", ["true", "false"], ids=["with leader election", "without"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
async def test_a_signal_ends_the_work_and_closes_the_plugin(
    tmp_path: Path, number: signal.Signals, elect: str
) -> None:
    """In this order, and the process ends well; what has failed before is named in the log."""
    async with cluster_for(tmp_path, elect=elect), started(tmp_path, *RUN, *WITH_PLUGIN) as process:
        await until(lambda: "1 polls" in life(tmp_path), tmp_path)
        await until_logged(tmp_path, "Background work failed: plugin=Prices work=first prices")
        process.send_signal(number)
        assert await ended(process, tmp_path) == 0
    assert "ValueError: no such market" in (tmp_path / "log").read_text()
    assert life(tmp_path) == ["1 polls", "1 poll ended", "1 closed"]


async def test_a_reload_ends_the_work_of_the_old_class(tmp_path: Path) -> None:
    """The new one works from then on, and ends with the process."""
    async with cluster_for(tmp_path), started(tmp_path, *RUN, *WITH_PLUGIN, "--reload") as process:
        await until(lambda: "1 polls" in life(tmp_path), tmp_path)
        (tmp_path / "prices.py").write_text(PLUGIN.replace("version = 1", "version = 2"))
        await until(lambda: {"2 polls", "1 closed"} <= set(life(tmp_path)), tmp_path)
        assert sorted(life(tmp_path)) == ["1 closed", "1 poll ended", "1 polls", "2 polls"]
        process.terminate()
        assert await ended(process, tmp_path) == 0
    assert life(tmp_path)[4:] == ["2 poll ended", "2 closed"]


async def test_work_that_can_be_started_again_is(tmp_path: Path) -> None:
    """An async function, not a coroutine: after a delay, which the log tells."""
    failing = PLUGIN.replace('self._note("polls")', 'self._note("polls"); raise OSError("market closed")')
    async with cluster_for(tmp_path):
        (tmp_path / "prices.py").write_text(failing)
        async with started(tmp_path, *RUN, *WITH_PLUGIN) as process:
            await until(lambda: life(tmp_path).count("1 polls") >= 2, tmp_path)
            process.terminate()
            assert await ended(process, tmp_path) == 0
    told = (tmp_path / "log").read_text()
    assert "Background work failed; starting it again in 1s: plugin=Prices work=_poll" in told
    assert life(tmp_path)[-1] == "1 closed"
