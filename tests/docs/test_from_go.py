"""The table of the handle in "Coming from the Go framework": every line runs, and no method of Go is missing."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bayplan import ConfigMap, CSINode, CycleState, Node, Plugin, Pod, Status, StorageClass
from bayplan.framework import TermKind
from bayplan.testing import VirtualCluster, make_node, make_pod

GUIDE = (Path(__file__).parents[2] / "docs" / "guides" / "from-go.md").read_text()
TABLE = GUIDE.partition("## The handle, method by method")[2].partition("\n## ")[0]
#: The first code of the second column.
LINES = re.findall(r"^\| .*? \| `([^`]+)`[^|]*\|$", TABLE, re.MULTILINE)
#: The methods of fwk.Handle in k8s.io/kube-scheduler v0.36.4 and v0.37.1, those that it embeds included.
METHODS = [
    "APICacher",
    "APIDispatcher",
    "Activate",
    "AddNominatedPod",
    "AddPodInPreBind",
    "ClientSet",
    "DeleteNominatedPodIfExists",
    "EventRecorder",
    "Extenders",
    "GetPodInPreBind",
    "GetWaitingPod",
    "IterateOverWaitingPods",
    "KubeConfig",
    "MutableSnapshotSharedLister",
    "NominatedPodsForNode",
    "Parallelizer",
    "PodGroupManager",
    "ProfileName",
    "RejectWaitingPod",
    "RemovePodInPreBind",
    "RunFilterPlugins",
    "RunFilterPluginsWithNominatedPods",
    "RunPreFilterExtensionAddPod",
    "RunPreFilterExtensionRemovePod",
    "RunPreScorePlugins",
    "RunReservePluginsReserve",
    "RunReservePluginsUnreserve",
    "RunScorePlugins",
    "SharedCSIManager",
    "SharedDRAManager",
    "SharedInformerFactory",
    "SignPod",
    "SnapshotSharedLister",
    "UpdateNominatedPod",
]
NAMES = {
    "CSINode": CSINode,
    "ConfigMap": ConfigMap,
    "Node": Node,
    "StorageClass": StorageClass,
    "TermKind": TermKind,
}


async def work() -> None:
    """Stands for what a plugin does in the background."""


class Lines(Plugin):
    """Runs every line in the binding cycle, where all that it may need is there."""

    name = "Lines"

    def __init__(self, args: None, handle: Any) -> None:
        super().__init__(args, handle)
        #: Line → what it raised.
        self.failed: dict[str, Exception] = {}
        self.ran: list[str] = []

    async def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        given = {"handle": self.handle, "pod": pod, "node_name": node_name, "work": work}
        nodes = self.handle.snapshot.nodes
        waiting = next(iter(self.handle.waiting_pods), None)
        for line in LINES:
            # The pod as another one: it is on the node by now, so that it can be removed.
            others = {"nodes": nodes, "waiting": waiting, "other": pod, "state": state.clone()}
            try:
                await self._run(line, {**NAMES, **given, **others})
            except Exception as error:
                self.failed[line] = error
            self.ran.append(line)

    async def _run(self, line: str, names: dict[str, Any]) -> None:
        line = line if line.startswith("with ") else f"return {line}"
        exec(f"async def run():\n{textwrap.indent(line, '    ')}", names)  # noqa: S102  lines of our own documents
        result = await names["run"]()
        if isinstance(result, Status) and result.error is not None:
            raise result.error


class Waits(Plugin):
    """Pods with the label wait at Permit."""

    name = "Waits"

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Any:
        return Status.wait(timeout_seconds=60) if "waits" in pod.labels else None


@cache
def ran() -> Lines:
    with VirtualCluster(nodes=[make_node("a"), make_node("b")], plugins=[Lines, Waits]) as cluster:
        cluster.apply(make_pod("waiting", labels={"waits": "yes"}))
        cluster.wait(1)
        cluster.schedule(make_pod("p"))
        assert cluster.cluster.scheduler is not None
        found = cluster.cluster.scheduler.core.profiles["default-scheduler"].plugins.plugins["Lines"]
    assert isinstance(found, Lines)
    return found


@pytest.mark.parametrize("line", LINES)
def test_line_runs(line: str) -> None:
    """As it is on the page."""
    assert line in ran().ran
    assert ran().failed.get(line) is None


def test_no_method_is_missing() -> None:
    """Every method of Go's handle is in the table, or among those without a counterpart."""
    assert [method for method in METHODS if not re.search(rf"\b{method}\b", TABLE)] == []
    assert len(LINES) == TABLE.count("\n| ") - 2
