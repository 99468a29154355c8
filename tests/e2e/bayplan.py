"""Bayplan as a test starts it: as a process, as an administrator would, beside or instead of a stock scheduler."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tests.e2e.api import Object
from tests.e2e.control_plane import ControlPlane, free_port
from tests.e2e.processes import Process

PROGRAM = Path(sys.executable).with_name("bayplan")


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
    port = free_port()
    file = plane.scheduler_configuration(configuration, name=name)
    serving = plane.component_arguments(port, plane.kubeconfig_for("system:kube-scheduler"))
    process = plane.start(name, [PROGRAM, "run", f"--config={file}", f"--v={verbosity}", *serving, *arguments])
    return plane.when_ready(process, port, "/readyz")
