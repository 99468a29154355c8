"""The process around the scheduler: what ends it, and with which status."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from bayplan import config
from bayplan.process.running import EXIT_FAILED, run
from bayplan.process.settings import Settings
from bayplan.scheduler import default_registry
from bayplan.watch.reflector import Reflector

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: {elect}}}
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Of a server that nobody answers for."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        server = f"http://127.0.0.1:{taken.getsockname()[1]}"
    file = tmp_path / "kubeconfig"
    access: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "gone",
        "clusters": [{"name": "gone", "cluster": {"server": server}}],
        "users": [{"name": "gone", "user": {}}],
        "contexts": [{"name": "gone", "context": {"cluster": "gone", "user": "gone"}}],
    }
    file.write_text(yaml.safe_dump(access))
    return file


@pytest.mark.asyncio
@pytest.mark.parametrize("elect", ["true", "false"], ids=["with leader election", "without"])
async def test_watch_that_ends_for_good_ends_the_process(
    elect: str, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A scheduler that is blind to a part of the cluster says so and ends with status 1, to be started again."""

    async def broken(self: Reflector[Any]) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(Reflector, "run", broken)
    registry = default_registry()
    loaded = config.load(CONFIGURATION.format(elect=elect), source="test", catalogue=registry)

    status = await run(loaded, registry, Settings(kubeconfig=str(kubeconfig), serving=None))

    assert status == EXIT_FAILED
    (told,) = [record for record in caplog.records if record.message == "Watch failed permanently, stopping"]
    assert told.exc_info is not None
    assert str(told.exc_info[1]) == "a defect"
