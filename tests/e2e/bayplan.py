"""Bayplan as a test starts it: as a process, as an administrator would, beside or instead of a stock scheduler."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.api import Object
from tests.e2e.control_plane import READY_SECONDS, ControlPlane, free_port
from tests.e2e.processes import Process

PROGRAM = Path(sys.executable).with_name("bayplan")
#: What it says once it has read the cluster.
_SYNCED = "Caches are synced"


def start_bayplan(
    plane: ControlPlane,
    configuration: Object | None = None,
    *,
    name: str = "bayplan",
    verbosity: int = 2,
    arguments: Sequence[str | Path] = (),
) -> Process:
    """Start `bayplan run` with the rights of kube-scheduler, and wait until it has read the cluster.

    What the configuration leaves out is as in `ControlPlane.scheduler_configuration`.
    """
    file = plane.scheduler_configuration(configuration, name=name)
    command = [PROGRAM, "run", f"--config={file}", f"--v={verbosity}", *arguments]
    if _serves():
        port = free_port()
        serving = plane.component_arguments(port, plane.kubeconfig_for("system:kube-scheduler"))
        return plane.when_ready(plane.start(name, [*command, *serving]), port, "/readyz")
    process = plane.start(name, command)
    before = _count(process)
    process.wait_until(lambda: _count(process) > before, timeout=READY_SECONDS)
    return process


@functools.cache
def _serves() -> bool:
    """Whether this Bayplan has an HTTPS port yet."""
    done = subprocess.run([PROGRAM, "run", "--help"], capture_output=True, text=True, check=True)  # noqa: S603
    return "--secure-port" in done.stdout


def _count(process: Process) -> int:
    return process.log.read_text(errors="replace").count(_SYNCED)
