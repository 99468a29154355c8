"""A scheduler that decides, and then holds every pod back: reserved, but nothing of it is written."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.api import eventually
from tests.e2e.bayplan import start_bayplan
from tests.e2e.control_plane import ControlPlane
from tests.e2e.processes import Process

HOLD = """
from bayplan import Plugin, Status


class Hold(Plugin):
    name = "Hold"

    def permit(self, state, pod, node_name):
        return Status.wait(timeout_seconds=600)
"""


def start_holding(plane: ControlPlane, folder: Path) -> Process:
    """Start Bayplan with a plugin, kept in *folder*, that lets no pod through Permit."""
    plugin = folder / "hold.py"
    plugin.write_text(HOLD)
    profile = {"schedulerName": "default-scheduler", "plugins": {"permit": {"enabled": [{"name": "Hold"}]}}}
    return start_bayplan(plane, {"profiles": [profile]}, name="holding", arguments=["--plugin", f"{plugin}:Hold"])


def await_hold(plane: ControlPlane, name: str) -> str:
    """Wait until the pod is held, and say for which node."""
    return eventually(lambda: str(plane.api.get("Pod", name)["status"].get("nominatedNodeName", "")))
