"""The CSV form of Alibaba's GPU trace of 2023 (`cluster-trace-gpu-v2023`), called openb: nodes, or pods.

Nodes and pods are made as the programs around that trace write them: what a pod wants of GPUs is in annotations,
what a node has in extended resources, the model in a label. Published lists are not all in the order of time, so
none has to be.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from typing import Any, Final

from bayplan.lab.gpu_demand import GPU_COUNT, GPU_MILLI, GPU_MODEL
from bayplan.lab.jsonl_trace import as_created
from bayplan.lab.trace import ObjectArrival, PodArrival, TraceEntry, TraceError
from bayplan.model import Node

NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec")
#: Without these, pods arrive at the beginning and stay.
POD_TIMES: Final = ("creation_time", "deletion_time", "scheduled_time")
#: More than any node of the trace ever has.
PODS_PER_NODE: Final = 1001


def read(lines: Iterator[str], source: str) -> Iterator[TraceEntry]:
    rows = csv.DictReader(lines, strict=True)
    columns = tuple(rows.fieldnames or ())
    is_nodes = "sn" in columns
    expected = NODE_COLUMNS if is_nodes else POD_COLUMNS
    if missing := [name for name in expected if name not in columns]:
        form = "nodes" if is_nodes else "pods"
        raise TraceError(
            f"{source}:1: columns are missing for a list of {form}: {', '.join(missing)}; "
            f"there are: {', '.join(columns)}"
        )
    make: Callable[[_Row], TraceEntry] = _node if is_nodes else _pod
    try:
        for values in rows:
            yield make(_Row(values, f"{source}:{rows.line_num}"))
    except csv.Error as error:
        raise TraceError(f"{source}:{rows.line_num}: {error}") from error


class _Row:
    """One line, with errors that say where."""

    def __init__(self, values: dict[str, str], place: str) -> None:
        if None in values or None in values.values():
            raise TraceError(f"{place}: {'too many' if None in values else 'too few'} columns; is the trace cut?")
        self._values = values
        self.place = place

    def text(self, name: str) -> str:
        return self._values.get(name, "")

    def number(self, name: str, default: int | None = None) -> int:
        text = self._values.get(name, "")
        try:
            value = default if default is not None and not text else int(float(text))
        except (ValueError, OverflowError):
            value = -1
        if value is None or value < 0:
            raise TraceError(f"{self.place}: {name}: a number of 0 or more is expected, not {text!r}")
        return value


def _node(row: _Row) -> ObjectArrival:
    name, gpus = row.text("sn"), row.number("gpu", 0)
    amounts = {
        "cpu": f"{row.number('cpu_milli')}m",
        "memory": f"{row.number('memory_mib')}Mi",
        "pods": str(PODS_PER_NODE),
        GPU_COUNT: str(gpus),
        GPU_MILLI: str(1000 * gpus),
    }
    labels = {"kubernetes.io/hostname": name}
    if model := row.text("model"):
        labels[GPU_MODEL] = model
    metadata = {"name": name, "uid": f"node-{name}", "labels": labels}
    status = {"allocatable": amounts, "capacity": amounts}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}
    return ObjectArrival(0.0, Node.from_dict(node))


def _pod(row: _Row) -> PodArrival:
    requests = {"cpu": f"{row.number('cpu_milli')}m", "memory": f"{row.number('memory_mib')}Mi"}
    metadata: dict[str, Any] = {"name": row.text("name"), "namespace": "default"}
    if gpus := row.number("num_gpu"):
        metadata["annotations"] = {GPU_COUNT: str(gpus), GPU_MILLI: str(min(row.number("gpu_milli"), 1000))}
        if models := "|".join(each for each in row.text("gpu_spec").split("|") if each):
            metadata["annotations"][GPU_MODEL] = models
    if qos := row.text("qos"):
        metadata["labels"] = {"qos": qos.lower()}
    resources = {"requests": requests, "limits": requests}
    spec = {"containers": [{"name": "main", "image": "app", "resources": resources}]}
    pod = as_created({"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}})
    created, deleted, scheduled = (row.number(name, 0) for name in POD_TIMES)
    if not deleted:
        return PodArrival(float(created), pod)
    for name, time in (("deletion_time", deleted), ("scheduled_time", scheduled or created)):
        if time < created:
            raise TraceError(f"{row.place}: {name}: time goes backwards: {time} after the creation at {created}")
    return PodArrival(float(created), pod, end=float(deleted), duration=float(deleted - max(scheduled, created)))
