"""CronJobs: creates Jobs at the times of their schedules, and keeps as many finished ones as they say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bayplan.client import ConflictError, NotFoundError
from bayplan.controllers.api_objects import (
    Object,
    controller_of,
    is_being_deleted,
    key_of,
    owner_reference,
    path_of,
    split_key,
)
from bayplan.controllers.batch.cron_schedule import CronSchedule, PeriodicSchedule, ScheduleError, parse_schedule
from bayplan.controllers.batch.jobs import end_of
from bayplan.controllers.controller import Controller
from bayplan.controllers.core_events import WARNING, reference
from bayplan.model.times import format_time, time_of

BATCH: Final = "batch/v1"
SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
#: Of this many missed times the last one counts; beyond that, a clock has jumped.
_MISSED_LIMIT: Final = 100


class CronJobController(Controller):
    """See the module docstring."""

    name = "cronjob-controller"

    def watch(self) -> None:
        self._cron_jobs = self.objects(BATCH, "cronjobs")
        self._jobs = self.objects(BATCH, "jobs", _owner_keys)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        cron_job = self._cron_jobs.get(name, namespace)
        if cron_job is None or is_being_deleted(cron_job):
            return None
        try:
            schedule, zone = _schedule(cron_job["spec"])
        except (ScheduleError, ZoneInfoNotFoundError) as error:
            await self._emit(cron_job, "UnparseableSchedule", f"unparseable schedule: {error}", WARNING)
            return None
        jobs = [each for each in self._jobs.list(namespace) if _is_of(each, cron_job)]
        active = [each for each in jobs if end_of(each) is None]
        await self._drop_history(cron_job, jobs)
        now = datetime.fromtimestamp(self.clock.now(), UTC)
        due = _last_due(cron_job, schedule, zone, now)
        if due is not None and not cron_job["spec"].get("suspend"):
            active = await self._fire(cron_job, active, due, now)
        await self._update_status(cron_job, jobs, active, due)
        upcoming = schedule.after(now.astimezone(zone))
        return (upcoming - now).total_seconds() if upcoming is not None else None

    # --- jobs ---------------------------------------------------------------------------------------------

    async def _fire(self, cron_job: Object, active: list[Object], due: datetime, now: datetime) -> list[Object]:
        """Create the Job of the time *due*; returns the Jobs that are active then."""
        spec = cron_job["spec"]
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and now - due > timedelta(seconds=deadline):
            await self._emit(cron_job, "MissSchedule", f"Missed scheduled time to start a job: {due:%c}", WARNING)
            return active
        policy = spec.get("concurrencyPolicy", "Allow")
        if active and policy == "Forbid":
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            await self._emit(cron_job, "JobAlreadyActive", message)
            return active
        if policy == "Replace":
            for each in active:
                await self._delete(each)
                await self._emit(cron_job, "SuccessfulDelete", f"Deleted job {each['metadata']['name']}")
            active = []
        made = await self._make(cron_job, due)
        return [*active, made] if made is not None else active

    async def _make(self, cron_job: Object, due: datetime) -> Object | None:
        meta, template = cron_job["metadata"], cron_job["spec"]["jobTemplate"]
        known = template.get("metadata") or {}
        name = f"{meta['name']}-{int(due.timestamp()) // 60}"
        body = {
            "apiVersion": BATCH,
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": meta["namespace"],
                "labels": known.get("labels") or {},
                "annotations": {**(known.get("annotations") or {}), SCHEDULED_AT: format_time(due)},
                "ownerReferences": [owner_reference(cron_job, BATCH, "CronJob")],
            },
            "spec": template["spec"],
        }
        try:
            made = await self.client.request("POST", path_of(BATCH, "jobs", meta["namespace"]), body)
        except ConflictError:
            return None  # Created before.
        await self._emit(cron_job, "SuccessfulCreate", f"Created job {name}")
        return made

    async def _drop_history(self, cron_job: Object, jobs: list[Object]) -> None:
        limits = {
            "Complete": cron_job["spec"].get("successfulJobsHistoryLimit", 3),
            "Failed": cron_job["spec"].get("failedJobsHistoryLimit", 1),
        }
        for type, limit in limits.items():
            ended = sorted((each for each in jobs if (end_of(each) or {}).get("type") == type), key=_age)
            for each in ended[: max(len(ended) - limit, 0)]:
                if not is_being_deleted(each):
                    await self._delete(each)

    async def _delete(self, job: Object) -> None:
        meta = job["metadata"]
        path = path_of(BATCH, "jobs", meta["namespace"], meta["name"])
        try:
            await self.client.request("DELETE", path, {"propagationPolicy": "Background"})
        except NotFoundError:
            return

    # --- status and events --------------------------------------------------------------------------------

    async def _update_status(
        self, cron_job: Object, jobs: list[Object], active: list[Object], due: datetime | None
    ) -> None:
        known = cron_job.get("status") or {}
        status: Object = {"active": [reference(each, BATCH, "Job") for each in active] or None}
        if due is not None and not cron_job["spec"].get("suspend"):
            status["lastScheduleTime"] = format_time(due)
        completions = [(each.get("status") or {}).get("completionTime") for each in jobs]
        last = max((each for each in completions if each), default=None)
        if last is not None and last > known.get("lastSuccessfulTime", ""):
            status["lastSuccessfulTime"] = last
        names = sorted(each["name"] for each in known.get("active") or [])
        is_same = names == sorted(each["metadata"]["name"] for each in active)
        if is_same and all(known.get(field) == value for field, value in status.items() if field != "active"):
            return
        meta = cron_job["metadata"]
        path = path_of(BATCH, "cronjobs", meta["namespace"], meta["name"], "status")
        await self.client.request("PATCH", path, {"status": status})

    async def _emit(self, cron_job: Object, reason: str, message: str, type: str = "Normal") -> None:
        await self.events.emit(reference(cron_job, BATCH, "CronJob"), reason, message, type=type)


def _schedule(spec: Object) -> tuple[CronSchedule | PeriodicSchedule, tzinfo]:
    zone = ZoneInfo(spec["timeZone"]) if spec.get("timeZone") else UTC
    return parse_schedule(spec["schedule"]), zone


def _last_due(
    cron_job: Object, schedule: CronSchedule | PeriodicSchedule, zone: tzinfo, now: datetime
) -> datetime | None:
    """The last time before now that has not been served; None if there is none."""
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    since = time_of(last or cron_job["metadata"]["creationTimestamp"])
    if since is None:
        return None
    return _last_between(schedule, zone, since, now)


def _last_between(
    schedule: CronSchedule | PeriodicSchedule, zone: tzinfo, since: datetime, now: datetime
) -> datetime | None:
    due: datetime | None = None
    gap = timedelta(0)
    for _ in range(_MISSED_LIMIT):
        upcoming = schedule.after((due or since).astimezone(zone))
        if upcoming is None or upcoming > now:
            return due
        gap = upcoming - (due or since)
        due = upcoming.astimezone(UTC)
    # The controller was away for long: only the end of that time matters.
    return _last_between(schedule, zone, max(now - 2 * gap, since), now) or due


def _owner_keys(job: Object) -> list[str]:
    owner = controller_of(job)
    if owner is None or owner["kind"] != "CronJob":
        return []
    return [f"{job['metadata']['namespace']}/{owner['name']}"]


def _is_of(job: Object, cron_job: Object) -> bool:
    return bool((controller_of(job) or {}).get("uid") == cron_job["metadata"]["uid"])


def _age(job: Object) -> tuple[str, str]:
    return job["metadata"].get("creationTimestamp") or "", key_of(job)
