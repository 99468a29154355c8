"""Columns of pods: one status word from phase, conditions and containers."""

from __future__ import annotations

from typing import Any, Final

from bayplan.apiserver.tables.cells import NONE, Cells, Json, age, condition_is_true, containers, labels, since
from bayplan.apiserver.tables.table_columns import prints

_FINISHED: Final = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


@prints("", "Pod", "Name Ready Status Restarts Age IP* Node* Nominated_Node* Readiness_Gates*")
def pod(obj: Json, now: float) -> Cells:
    spec, status = obj["spec"], obj["status"]
    seen = _ContainerSummary(obj)
    addresses = status.get("podIPs") or [{}]
    return [
        obj["metadata"]["name"],
        f"{seen.ready}/{seen.total}",
        seen.reason,
        _restarts(seen, now),
        age(obj, now),
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def conditions(obj: Json) -> list[Json]:
    """Row conditions: clients may hide completed pods."""
    phase = obj["status"].get("phase")
    if phase not in _FINISHED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _FINISHED[phase]}]


class _ContainerSummary:
    """A summary of the statuses of a pod's containers."""

    def __init__(self, obj: Json) -> None:
        self._spec: Json = obj["spec"]
        self._status: Json = obj["status"]
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self._sidecar_restarts = 0
        self._sidecar_last_restart = ""
        self._sidecars = {
            container["name"]
            for container in self._spec.get("initContainers") or ()
            if container.get("restartPolicy") == "Always"
        }
        self.total = len(self._spec.get("containers") or ()) + len(self._sidecars)
        self.reason = self._first_reason()
        initializing = self._summarize_init_containers()
        if not initializing or condition_is_true(self._status.get("conditions"), "Initialized"):
            self._summarize_containers()
        if obj["metadata"].get("deletionTimestamp"):
            self._summarize_deletion()

    def _first_reason(self) -> str:
        gated = any(
            condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated"
            for condition in self._status.get("conditions") or ()
        )
        return "SchedulingGated" if gated else self._status.get("reason") or self._status.get("phase") or ""

    def _summarize_init_containers(self) -> bool:
        """Whether init containers are still running; the reason then says which or why."""
        for i, container in enumerate(self._status.get("initContainerStatuses") or ()):
            sidecar = container["name"] in self._sidecars
            self._count_restarts(container)
            if sidecar:
                self._sidecar_restarts += container.get("restartCount", 0)
                self._sidecar_last_restart = max(self._sidecar_last_restart, _finished(container))
            if _terminated(container) is not None and not _terminated(container).get("exitCode"):
                continue
            if sidecar and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            progress = f"{i}/{len(self._spec.get('initContainers') or ())}"
            self.reason = f"Init:{_why_not_done(container) or progress}"
            return True
        return False

    def _summarize_containers(self) -> None:
        self.restarts, self.last_restart = self._sidecar_restarts, self._sidecar_last_restart
        running, failure = False, ""
        for container in reversed(self._status.get("containerStatuses") or ()):
            self._count_restarts(container)
            state = container.get("state") or {}
            terminated = _terminated(container)
            if (state.get("waiting") or {}).get("reason"):
                self.reason = state["waiting"]["reason"]
            elif terminated is not None:
                self.reason = terminated.get("reason") or _how_it_ended(terminated)
                failure = self.reason if terminated.get("exitCode") else failure
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            self._correct_completed(running, failure)

    def _correct_completed(self, running: bool, failure: str) -> None:
        """A completed container does not make the pod completed while others run."""
        if running and condition_is_true(self._status.get("conditions"), "Ready"):
            self.reason = "Running"
        elif failure:
            self.reason = failure
        elif running:
            self.reason = "NotReady"

    def _summarize_deletion(self) -> None:
        if self._status.get("reason") == "NodeLost":
            self.reason = "Unknown"
        elif self._status.get("phase") not in _FINISHED:
            self.reason = "Terminating"

    def _count_restarts(self, container: Json) -> None:
        self.restarts += container.get("restartCount", 0)
        self.last_restart = max(self.last_restart, _finished(container))


def _terminated(container: Json) -> Any:
    return (container.get("state") or {}).get("terminated")


def _finished(container: Json) -> str:
    terminated = (container.get("lastState") or {}).get("terminated") or {}
    return terminated.get("finishedAt") or ""


def _why_not_done(container: Json) -> str:
    terminated = _terminated(container)
    if terminated is not None:
        return str(terminated.get("reason") or _how_it_ended(terminated))
    waiting: str = ((container.get("state") or {}).get("waiting") or {}).get("reason") or ""
    return "" if waiting == "PodInitializing" else waiting


def _how_it_ended(terminated: Json) -> str:
    signal = terminated.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{terminated.get('exitCode', 0)}"


def _restarts(seen: _ContainerSummary, now: float) -> str:
    if seen.restarts and seen.last_restart:
        return f"{seen.restarts} ({since(seen.last_restart, now)} ago)"
    return str(seen.restarts)


def _readiness_gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    passed = [condition_is_true(status.get("conditions"), gate.get("conditionType", "")) for gate in gates]
    return f"{sum(passed)}/{len(gates)}"


@prints("", "PodTemplate", "Name Containers Images Pod_Labels")
def pod_template(obj: Json, now: float) -> Cells:
    template = obj["template"]
    return [obj["metadata"]["name"], *containers(template["spec"]), labels(template["metadata"].get("labels"))]
