"""Jobs: creates pods until enough of them have succeeded, or too many have failed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from bayplan.controllers.api_objects import Object, is_being_deleted, path_of, split_key
from bayplan.controllers.batch.job_indexes import format_indexes, matched_rule
from bayplan.controllers.controller import Controller
from bayplan.controllers.core_events import reference
from bayplan.controllers.pod_control import PodControl
from bayplan.controllers.pod_view import PodView
from bayplan.model.times import format_time, time_of

BATCH: Final = "batch/v1"
#: A label and an annotation.
INDEX: Final = "batch.kubernetes.io/job-completion-index"
INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"


class JobController(Controller):
    """See the module docstring."""

    name = "job-controller"

    def watch(self) -> None:
        self._jobs = self.objects(BATCH, "jobs")
        self._control = PodControl(self, BATCH, "Job", self._jobs)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        job = self._jobs.get(name, namespace)
        if job is None:
            self._control.expectations.forget(key)
            return None
        if is_being_deleted(job):
            return None
        if end_of(job) is not None:
            return await self._expire(job)
        pods = list(await self._control.claim(job))
        outcome = self._outcome(job, pods)
        if outcome is not None or job["spec"].get("suspend"):
            await self._control.delete(job, [pod for pod in pods if pod.is_active])
        elif self._control.expectations.is_satisfied(key):
            await self._top_up(job, pods)
        await self._update_status(job, pods, outcome)
        return self._deadline(job)

    # --- pods ---------------------------------------------------------------------------------------------

    async def _top_up(self, job: Object, pods: list[PodView]) -> None:
        spec = job["spec"]
        active = [pod for pod in pods if pod.is_active]
        succeeded = _succeeded(job, pods)
        wanted = spec.get("parallelism", 1)
        completions = spec.get("completions")
        if completions is not None:
            wanted = min(wanted, completions - succeeded)
        elif succeeded:
            wanted = len(active)  # A work queue: once one pod has succeeded, no new ones start.
        missing = wanted - len(active)
        if missing < 0:
            await self._control.delete(job, active[missing:])
        elif missing and _is_indexed(job):
            name = job["metadata"]["name"]
            for index in _free_indexes(job, pods)[:missing]:
                template = _with_index(spec["template"], name, index)
                await self._control.make(job, template, prefix=f"{name}-{index}-")
        elif missing:
            await self._control.make(job, spec["template"], missing)

    # --- outcome ------------------------------------------------------------------------------------------

    def _outcome(self, job: Object, pods: list[PodView]) -> tuple[str, str, str] | None:
        """Type, reason and message of the condition that finishes the Job, or None."""
        spec = job["spec"]
        failed = sum(pod.status.phase == "Failed" for pod in pods)
        if failed > spec.get("backoffLimit", 6):
            return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        left = self._deadline(job)
        if left is not None and left <= 0:
            return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
        rule = matched_rule(job, _succeeded_indexes(pods)) if spec.get("successPolicy") else None
        if rule is not None:
            return "Complete", "SuccessPolicy", f"Matched rules at index {rule}"
        succeeded = _succeeded(job, pods)
        completions = spec.get("completions")
        if completions is not None and succeeded >= completions:
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        if completions is None and succeeded and not any(pod.is_active for pod in pods):
            return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
        return None

    def _deadline(self, job: Object) -> float | None:
        seconds = job["spec"].get("activeDeadlineSeconds")
        start = time_of((job.get("status") or {}).get("startTime"))
        if seconds is None or start is None:
            return None
        return float(start.timestamp() + seconds - self.clock.now())

    async def _expire(self, job: Object) -> float | None:
        """Delete a Job that finished `ttlSecondsAfterFinished` ago."""
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        ended = time_of((end_of(job) or {}).get("lastTransitionTime"))
        if ttl is None or ended is None:
            return None
        left = float(ended.timestamp() + ttl - self.clock.now())
        if left > 0:
            return left
        meta = job["metadata"]
        path = path_of(BATCH, "jobs", meta["namespace"], meta["name"])
        await self.client.request("DELETE", path, {"propagationPolicy": "Background"})
        return None

    # --- status and events --------------------------------------------------------------------------------

    async def _update_status(self, job: Object, pods: list[PodView], outcome: tuple[str, str, str] | None) -> None:
        now = format_time(datetime.fromtimestamp(self.clock.now(), UTC))
        known = job.get("status") or {}
        active = [pod for pod in pods if pod.is_active] if outcome is None else []
        counts = {
            "active": len(active),
            "ready": sum(pod.is_ready for pod in active),
            "terminating": sum(pod.is_deleted and not pod.has_ended for pod in pods),
            "succeeded": _succeeded(job, pods),
            "failed": sum(pod.status.phase == "Failed" for pod in pods),
        }
        status: Object = {**known, **counts, "uncountedTerminatedPods": {}}
        if _is_indexed(job) and counts["succeeded"]:
            status["completedIndexes"] = format_indexes(_succeeded_indexes(pods))
        if not job["spec"].get("suspend"):
            status.setdefault("startTime", now)
        if outcome is not None:
            self._end(status, outcome, now)
        for field in ("active", "succeeded", "failed"):
            if not status[field]:
                del status[field]
        if status == known:
            return
        meta = job["metadata"]
        path = path_of(BATCH, "jobs", meta["namespace"], meta["name"], "status")
        body = {**job, "apiVersion": BATCH, "kind": "Job", "status": status}
        await self.client.request("PUT", path, body)
        if outcome is not None:
            await self._emit_finished(job, outcome)

    def _end(self, status: Object, outcome: tuple[str, str, str], now: str) -> None:
        type, reason, message = outcome
        early = "SuccessCriteriaMet" if type == "Complete" else "FailureTarget"
        conditions = list(status.get("conditions") or [])
        for each in (early, type):
            condition = {"type": each, "status": "True", "lastProbeTime": now, "lastTransitionTime": now}
            conditions.append({**condition, "reason": reason, "message": message})
        status["conditions"] = conditions
        if type == "Complete":
            status["completionTime"] = now

    async def _emit_finished(self, job: Object, outcome: tuple[str, str, str]) -> None:
        type, reason, message = outcome
        about = reference(job, BATCH, "Job")
        if type == "Complete":
            await self.events.emit(about, "Completed", "Job completed")
        else:
            await self.events.emit(about, reason, message, type="Warning")


def end_of(job: Object) -> Object | None:
    """The condition that finished the Job."""
    conditions = (job.get("status") or {}).get("conditions") or []
    ends = (each for each in conditions if each["type"] in ("Complete", "Failed") and each["status"] == "True")
    return next(ends, None)


def _is_indexed(job: Object) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def _succeeded(job: Object, pods: list[PodView]) -> int:
    if _is_indexed(job):
        return len(_succeeded_indexes(pods))
    return sum(pod.status.phase == "Succeeded" for pod in pods)


def _succeeded_indexes(pods: list[PodView]) -> set[int]:
    texts = (pod.metadata.annotations.get(INDEX, "") for pod in pods if pod.status.phase == "Succeeded")
    return {int(text) for text in texts if text.isdigit()}


def _free_indexes(job: Object, pods: list[PodView]) -> list[int]:
    taken = {
        pod.metadata.annotations.get(INDEX) for pod in pods if pod.is_active or pod.status.phase == "Succeeded"
    }
    return [index for index in range(job["spec"].get("completions", 0)) if str(index) not in taken]


def _with_index(template: Object, name: str, index: int) -> Object:
    """The template of one index, which label, annotation, hostname and environment tell."""
    meta = template.get("metadata") or {}
    labels = {**(meta.get("labels") or {}), INDEX: str(index)}
    annotations = {**(meta.get("annotations") or {}), INDEX: str(index)}
    spec = {**template["spec"], "hostname": f"{name}-{index}"}
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [_with_environment(container) for container in spec[field]]
    return {**template, "metadata": {**meta, "labels": labels, "annotations": annotations}, "spec": spec}


def _with_environment(container: Object) -> Object:
    known = container.get("env") or []
    if any(each["name"] == INDEX_VARIABLE for each in known):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*known, {"name": INDEX_VARIABLE, "valueFrom": source}]}
