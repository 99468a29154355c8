"""A real control plane on which recorded scenarios are played again, one after another.

etcd and kube-apiserver stay, and are swept between the scenarios; each scenario has a kube-scheduler of its own.
Objects are created as they were recorded, without what an API server fills in.
"""

from __future__ import annotations

import copy
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.e2e.api import Api, ApiError, Object
from tests.e2e.control_plane import ADMISSION_OFF, ControlPlane
from tests.e2e.objects import create_priority_classes, priority_class
from tests.e2e.processes import Process
from tests.e2e.shared import SharedControlPlane

#: In each metadata, made by the API server.
_FILLED_IN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink")
#: Key of a scenario → apiVersion and kind of its objects, in the order in which they are created.
LISTS: Mapping[str, tuple[str, str]] = {
    "namespaces": ("v1", "Namespace"),
    "deviceclasses": ("resource.k8s.io/v1", "DeviceClass"),
    "storageclasses": ("storage.k8s.io/v1", "StorageClass"),
    "nodes": ("v1", "Node"),
    "csinodes": ("storage.k8s.io/v1", "CSINode"),
    "resourceslices": ("resource.k8s.io/v1", "ResourceSlice"),
    "pvs": ("v1", "PersistentVolume"),
    "pvcs": ("v1", "PersistentVolumeClaim"),
    "services": ("v1", "Service"),
    "pdbs": ("policy/v1", "PodDisruptionBudget"),
    "claims": ("resource.k8s.io/v1", "ResourceClaim"),
    "claimtemplates": ("resource.k8s.io/v1", "ResourceClaimTemplate"),
    "bound": ("v1", "Pod"),
}
#: Kinds whose status the API server ignores when they are created.
_WITH_STATUS = ("PersistentVolume", "PersistentVolumeClaim", "PodDisruptionBudget", "ResourceClaim", "Pod")
#: Fields of a status that the API server sets itself.
_OWN_STATUS = ("phase", "qosClass")
_LOGGED = re.compile(r'[IWE](?P<time>\d{4} \S+) .*?\] "(?P<text>[^"]*)"(?P<values>.*)')
_VALUE = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')
#: Every node is tried, and each pod for itself, as in the recordings.
GATES = "--feature-gates=OpportunisticBatching=false"
#: What the scheduler logs at the start of each attempt.
ATTEMPT = "Attempting to schedule pod"
#: Attempts are told at this verbosity, and the score of each plugin at 10.
VERBOSITY = 3
SCORES = "--vmodule=schedule*=10"


class LiveCluster(AbstractContextManager["LiveCluster"]):
    """Within `with`; the control plane starts when it is first wanted."""

    def __init__(self, programs: Mapping[str, Path], *, admission_off: Sequence[str] = ADMISSION_OFF) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="bayplan-record-", ignore_cleanup_errors=True)
        self._shared = SharedControlPlane(programs, self._new_folder, admission_off=admission_off)
        self._scheduler: Process | None = None
        #: uid in the recording → uid here.
        self.uids: dict[str, str] = {}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._shared.close()
        self._folder.cleanup()

    def _new_folder(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self._folder.name))

    @property
    def plane(self) -> ControlPlane:
        return self._shared.get()

    @property
    def api(self) -> Api:
        return self.plane.api

    def sweep(self) -> None:
        """Everything is gone: scheduler, controllers and objects."""
        self._shared.sweep()
        self._scheduler = None
        self.uids = {}

    def start_controllers(self, *names: str) -> None:
        self.plane.start_controller_manager(controllers=",".join(names))

    # --- objects ----------------------------------------------------------------------------------

    def create_cluster(self, line: Mapping[str, Any]) -> Object:
        """The lists of a scenario, as the API server has them now."""
        create_priority_classes(self.api, list(priority_classes(line)))
        return {key: [self._create(key, each) for each in line[key]] for key in LISTS if key in line}

    def _create(self, key: str, recorded: Object) -> Object:
        api_version, kind = LISTS[key]
        return self.create({"apiVersion": api_version, "kind": kind, **recorded})

    def create(self, recorded: Object) -> Object:
        """The object, with its status, as the API server answers."""
        body = as_created(recorded)
        try:
            made = self.api.create(body)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            made = self._relabel(body)
        if recorded["kind"] in _WITH_STATUS and set(recorded.get("status") or ()) - {*_OWN_STATUS, "conditions"}:
            made = self.api.replace({**made, "status": recorded["status"]}, subresource="status")
        if uid := recorded["metadata"].get("uid"):
            self.uids[uid] = made["metadata"]["uid"]
        return plain(made)

    def _relabel(self, body: Object) -> Object:
        """Of the namespace `default`, which is always there."""
        kind, name, labels = body["kind"], body["metadata"]["name"], body["metadata"].get("labels", {})
        there = self.api.get(kind, name)["metadata"].get("labels", {})
        return self.api.patch(kind, name, {"metadata": {"labels": {**dict.fromkeys(there), **labels}}})

    def history(self, made: Object) -> list[Object]:
        """Every version of a pod since it was made, the newest last."""
        metadata = made["metadata"]
        now = self.api.get("Pod", metadata["name"], namespace=metadata["namespace"])
        if now["metadata"]["resourceVersion"] == metadata["resourceVersion"]:
            return [now]
        versions: list[Object] = []
        watch = self.api.watch(
            "Pod",
            namespace=metadata["namespace"],
            fieldSelector=f"metadata.name={metadata['name']}",
            resourceVersion=metadata["resourceVersion"],
        )
        with closing(watch):
            for _, version in watch:
                versions.append(version)
                if version["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]:
                    break
        return versions

    # --- the scheduler ----------------------------------------------------------------------------

    def start_scheduler(self, configuration: Object) -> None:
        self._scheduler = self.plane.start_scheduler(configuration, verbosity=VERBOSITY, arguments=[GATES, SCORES])

    def scores(self, pod: str) -> list[dict[str, dict[str, int]]]:
        """Of each attempt: node → plugin → score, and `total`; nothing where one node was left, or none."""
        found: list[dict[str, dict[str, int]]] = []
        for told in self._log(f'pod="{pod}"'):
            if told["text"] == ATTEMPT:
                found.append({})
            elif told["text"] == "Plugin scored node for pod":
                found[-1].setdefault(told["node"], {})[told["plugin"]] = int(told["score"])
            elif told["text"] == "Calculated node's final score for pod":
                found[-1].setdefault(told["node"], {})["total"] = int(told["score"])
        return found

    def attempts(self, pod: str) -> list[str]:
        """When the scheduler has tried this pod (`namespace/name`), as klog writes times."""
        return [told["time"] for told in self._log(f'pod="{pod}"') if told["text"] == ATTEMPT]

    def _log(self, about: str) -> Iterator[dict[str, str]]:
        """The lines of the scheduler's log about something."""
        assert self._scheduler is not None  # noqa: S101
        for line in self._scheduler.log.read_text(errors="replace").splitlines():
            if about in line and (told := parsed(line)) is not None:
                yield told


# --- forms --------------------------------------------------------------------------------------------


def parsed(line: str) -> dict[str, str] | None:
    """A line of klog: its `time` and `text`, and the values by name, without quotes."""
    match = _LOGGED.match(line)
    if match is None:
        return None
    values = {name: value.strip('"') for name, value in _VALUE.findall(match["values"])}
    return {**values, "time": match["time"], "text": match["text"]}


def klog_time(seconds: float) -> str:
    """A time as klog writes it, so that both can be compared as text."""
    return datetime.fromtimestamp(seconds).strftime("%m%d %H:%M:%S.%f")


def as_created(recorded: Object) -> Object:
    """A recorded object as somebody would create it."""
    body = copy.deepcopy(recorded)
    for name in _FILLED_IN:
        body["metadata"].pop(name, None)
    if body["kind"] == "PersistentVolume" and "claimRef" in body["spec"]:
        for name in ("uid", "resourceVersion"):
            body["spec"]["claimRef"].pop(name, None)
    if body["kind"] == "Service":
        for name in ("clusterIP", "clusterIPs"):
            body["spec"].pop(name, None)
    return body


def plain(made: Object) -> Object:
    """An object as the recordings have it: without `managedFields`."""
    metadata = {name: value for name, value in made["metadata"].items() if name != "managedFields"}
    return {**made, "metadata": metadata}


def priority_classes(line: Mapping[str, Any]) -> Iterable[Object]:
    """The priority classes that the pods of a scenario name."""
    pods = [*line.get("bound", ()), *line.get("pending", ()), *(each["pod"] for each in line.get("steps", ()))]
    if "pod" in line:
        pods.append(line["pod"])
    found = {
        spec["priorityClassName"]: (spec["priority"], spec["preemptionPolicy"])
        for spec in (pod["spec"] for pod in pods)
        if "priorityClassName" in spec
    }
    return [priority_class(name, value, policy=policy) for name, (value, policy) in found.items()]
