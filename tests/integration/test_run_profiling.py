"""/debug of `bayplan run`: there unless profiling is turned off, as in kube-scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.bayplan_process import ask, ended, free_port, started, until_logged

from bayplan import Cluster

pytestmark = pytest.mark.asyncio

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: kubeconfig}
"""
PATHS = ("/debug/pprof", "/debug/pprof/", "/debug/pprof/profile?seconds=0.05", "/debug/pprof/goroutine")
WITH_CONFIGURATION = ("--config", "scheduler.yaml")


@pytest.mark.parametrize(
    ("configuration", "flags", "is_served"),
    [
        pytest.param(CONFIGURATION, WITH_CONFIGURATION, True, id="by default"),
        pytest.param(
            CONFIGURATION + "enableProfiling: false\n", WITH_CONFIGURATION, False, id="off in the configuration"
        ),
        pytest.param(
            "",
            ("--kubeconfig", "kubeconfig", "--leader-elect=false", "--profiling=false"),
            False,
            id="off by flag",
        ),
        pytest.param(
            CONFIGURATION, (*WITH_CONFIGURATION, "--profiling=false"), True, id="the flag beside a configuration"
        ),
    ],
)
async def test_profiling_is_served_unless_it_is_off(
    tmp_path: Path, configuration: str, flags: tuple[str, ...], is_served: bool
) -> None:
    """Then nothing is known of these paths, also for those who may see everything; the rest is served."""
    port = free_port()
    words = ("run", f"--secure-port={port}", "--authorization-always-allow-paths=/debug/*,/healthz", *flags)
    (tmp_path / "scheduler.yaml").write_text(configuration)
    async with Cluster(1, scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        (tmp_path / "kubeconfig").write_text(cluster.address.kubeconfig())
        async with started(tmp_path, *words, "--v=3") as process:
            await until_logged(tmp_path, "Handlers synced")
            answers = [await ask(port, path) for path in PATHS]
            answers.append(await ask(port, "/debug/flags/v", method="PUT", body="4"))
            assert [status for status, _ in answers] == [200 if is_served else 404] * len(answers)
            if not is_served:
                assert {text for _, text in answers} == {"404 page not found\n"}
            assert await ask(port, "/healthz") == (200, "ok")
            process.terminate()
            assert await ended(process, tmp_path) == 0
