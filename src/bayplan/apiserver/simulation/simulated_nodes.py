"""The nodes of a simulated cluster: a number of equal nodes spread over zones, or the nodes of a file."""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.simulation.manifest_applier import ManifestError, read_manifests

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
#: The digits of node names in large clusters, so that names sort by number.
_DIGITS: Final = 4


def make_nodes(
    count: int, *, zones: int = 1, cpu: str = "8", memory: str = "32Gi", pods: str = "110"
) -> list[Any]:
    """*count* equal nodes, spread round-robin over *zones* zones."""
    digits = max(len(str(count)), 1 if count < 10 else _DIGITS if count >= 1000 else 2)
    return [
        _node(f"node-{number:0{digits}}", f"zone-{(number - 1) % zones + 1}", cpu, memory, pods)
        for number in range(1, count + 1)
    ]


def _node(name: str, zone: str, cpu: str, memory: str, pods: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory, "ephemeral-storage": "100Gi", "pods": pods}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        ZONE: zone,
        REGION: "simulated",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def read_nodes(text: str, where: str) -> list[dict[str, Any]]:
    """The Node objects of a file; other kinds are refused."""
    nodes = read_manifests(text, where)
    for position, node in enumerate(nodes, start=1):
        if node.get("kind") != "Node":
            raise ManifestError(
                f"{where}: document {position} is a {node.get('kind')}, and only Nodes belong here; "
                "give other objects with -f"
            )
    return nodes
