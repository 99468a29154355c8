"""Columns of workloads: replication controllers, apps, batch, and disruption budgets."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Json,
    age,
    condition_is_true,
    containers,
    human_duration,
    labels,
    selector,
    since,
)
from bayplan.apiserver.tables.table_columns import prints
from bayplan.model.times import parse_time

#: The first true condition is the state of a job; deletion ranks between the final states and the rest.
_JOB_ENDS: Final = {"Complete": "Complete", "Failed": "Failed"}
_JOB_STATES: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
_REPLICAS: Final = "Name Desired:integer Current:integer Ready:integer Age Containers* Images* Selector*"


@prints("", "ReplicationController", _REPLICAS)
def replication_controller(obj: Json, now: float) -> Cells:
    template = obj["spec"].get("template") or {"spec": {}}
    return [*_replicas(obj, now), *containers(template["spec"]), labels(obj["spec"].get("selector"))]


@prints("apps", "ReplicaSet", _REPLICAS)
def replica_set(obj: Json, now: float) -> Cells:
    return [*_replicas(obj, now), *_template(obj), selector(obj["spec"].get("selector"))]


def _replicas(obj: Json, now: float) -> Cells:
    status = obj["status"]
    counts = [obj["spec"].get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0)]
    return [obj["metadata"]["name"], *counts, age(obj, now)]


def _template(obj: Json) -> Cells:
    return containers(obj["spec"]["template"]["spec"])


@prints("apps", "Deployment", "Name Ready Up-to-date Available Age Containers* Images* Selector*")
def deployment(obj: Json, now: float) -> Cells:
    spec, status = obj["spec"], obj["status"]
    chosen = selector(spec.get("selector"))
    return [
        obj["metadata"]["name"],
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(obj, now),
        *_template(obj),
        # Only Deployments show an empty selector as nothing.
        "" if chosen == NONE else chosen,
    ]


@prints("apps", "StatefulSet", "Name Ready Age Containers* Images*")
def stateful_set(obj: Json, now: float) -> Cells:
    ready = f"{obj['status'].get('readyReplicas', 0)}/{obj['spec'].get('replicas', 0)}"
    return [obj["metadata"]["name"], ready, age(obj, now), *_template(obj)]


@prints(
    "apps",
    "DaemonSet",
    "Name Desired:integer Current:integer Ready:integer Up-to-date:integer Available:integer Node_Selector Age"
    " Containers* Images* Selector*",
)
def daemon_set(obj: Json, now: float) -> Cells:
    status = obj["status"]
    return [
        obj["metadata"]["name"],
        status.get("desiredNumberScheduled", 0),
        status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        labels(obj["spec"]["template"]["spec"].get("nodeSelector")),
        age(obj, now),
        *_template(obj),
        selector(obj["spec"].get("selector")),
    ]


@prints("apps", "ControllerRevision", "Name Controller Revision Age")
def controller_revision(obj: Json, now: float) -> Cells:
    owners = obj["metadata"].get("ownerReferences") or ()
    owner = next((owner for owner in owners if owner.get("controller")), None)
    return [obj["metadata"]["name"], _qualified(owner) if owner else NONE, obj.get("revision", 0), age(obj, now)]


def _qualified(owner: Json) -> str:
    group = owner["apiVersion"].rpartition("/")[0]
    kind = f"{owner['kind']}.{group}" if group else owner["kind"]
    return f"{kind.lower()}/{owner['name']}"


@prints("batch", "Job", "Name Status Completions Duration Age Containers* Images* Selector*")
def job(obj: Json, now: float) -> Cells:
    return [
        obj["metadata"]["name"],
        _job_state(obj),
        _completions(obj),
        _job_duration(obj["status"], now),
        age(obj, now),
        *_template(obj),
        selector(obj["spec"].get("selector")),
    ]


def _job_state(obj: Json) -> str:
    conditions = obj["status"].get("conditions")
    ended = next((state for state in _JOB_ENDS if condition_is_true(conditions, state)), "")
    if ended or obj["metadata"].get("deletionTimestamp"):
        return ended or "Terminating"
    return next((state for state in _JOB_STATES if condition_is_true(conditions, state)), "Running")


def _completions(obj: Json) -> str:
    succeeded, wanted = obj["status"].get("succeeded", 0), obj["spec"].get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = obj["spec"].get("parallelism", 0)
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _job_duration(status: Json, now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    ended = parse_time(end).timestamp() if end else now
    return human_duration(ended - parse_time(start).timestamp())


@prints(
    "batch",
    "CronJob",
    "Name Schedule Timezone Suspend:boolean Active:integer Last_Schedule Age Containers* Images* Selector*",
)
def cron_job(obj: Json, now: float) -> Cells:
    spec, status = obj["spec"], obj["status"]
    last = status.get("lastScheduleTime")
    suspended = spec.get("suspend")
    return [
        obj["metadata"]["name"],
        spec.get("schedule", ""),
        spec.get("timeZone", NONE),
        UNSET if suspended is None else str(suspended),
        len(status.get("active") or ()),
        since(last, now) if last else NONE,
        age(obj, now),
        *containers(spec["jobTemplate"]["spec"]["template"]["spec"]),
        selector(spec["jobTemplate"]["spec"].get("selector")),
    ]


@prints("policy", "PodDisruptionBudget", "Name Min_Available Max_Unavailable Allowed_Disruptions:integer Age")
def pod_disruption_budget(obj: Json, now: float) -> Cells:
    limits = [str(obj["spec"].get(field, "N/A")) for field in ("minAvailable", "maxUnavailable")]
    return [obj["metadata"]["name"], *limits, obj["status"].get("disruptionsAllowed", 0), age(obj, now)]
