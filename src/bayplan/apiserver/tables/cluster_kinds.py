"""Columns of nodes, namespaces, events, quotas, priorities, leases and devices."""

from __future__ import annotations

from typing import Final

from bayplan.apiserver.tables.cells import NONE, UNKNOWN, Cells, Json, age, since
from bayplan.apiserver.tables.table_columns import prints

_ROLE_PREFIX: Final = "node-role.kubernetes.io/"
_ROLE_LABEL: Final = "kubernetes.io/role"
_EVENT: Final = "Last_Seen Type Reason Object Subobject* Source* Message First_Seen* Count* Name*"


@prints(
    "",
    "Node",
    "Name Status Roles Age Version Internal-IP* External-IP* OS-Image* Kernel-Version* Container-Runtime*",
)
def node(obj: Json, now: float) -> Cells:
    status = obj["status"]
    info = status.get("nodeInfo") or {}
    kernel = info.get("kernelVersion") or UNKNOWN
    architecture = info.get("architecture")
    return [
        obj["metadata"]["name"],
        _node_status(obj),
        ",".join(_roles(obj["metadata"].get("labels") or {})) or NONE,
        age(obj, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        f"{kernel} ({architecture})" if architecture else kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


def _node_status(obj: Json) -> str:
    # If there are two, the last one counts.
    ready = [each for each in obj["status"].get("conditions") or () if each.get("type") == "Ready"]
    word = "Unknown"
    if ready:
        word = "Ready" if ready[-1].get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if obj["spec"].get("unschedulable") else word


def _roles(labels: dict[str, str]) -> list[str]:
    named = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    return sorted((named | {labels.get(_ROLE_LABEL, "")}) - {""})


def _address(status: Json, kind: str) -> str:
    found = (each["address"] for each in status.get("addresses") or () if each.get("type") == kind)
    return next(found, NONE)


@prints("", "Namespace", "Name Status Age")
def namespace(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], obj["status"].get("phase", ""), age(obj, now)]


@prints("", "Event", _EVENT)
def event(obj: Json, now: float) -> Cells:
    first = since(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = since(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    count, series = obj.get("count", 0) or 1, obj.get("series")
    if series is not None:
        last, count = since(series.get("lastObservedTime"), now), series.get("count", 0)
    about = obj["involvedObject"]
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        about.get("fieldPath", ""),
        _event_source(obj),
        obj.get("message", "").strip(),
        first,
        count,
        obj["metadata"]["name"],
    ]


def _event_source(obj: Json) -> str:
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent", "")
    instance = source.get("host") or obj.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


@prints("events.k8s.io", "Event", _EVENT)
def new_event(obj: Json, now: float) -> Cells:
    """The same objects as events.k8s.io."""
    core = {
        "metadata": obj["metadata"],
        "involvedObject": obj.get("regarding") or {},
        "message": obj.get("note", ""),
        "source": obj.get("deprecatedSource"),
        "firstTimestamp": obj.get("deprecatedFirstTimestamp"),
        "lastTimestamp": obj.get("deprecatedLastTimestamp"),
        "count": obj.get("deprecatedCount", 0),
        "reportingComponent": obj.get("reportingController", ""),
    }
    same = ("type", "reason", "eventTime", "series", "reportingInstance")
    return event(core | {field: obj[field] for field in same if obj.get(field)}, now)


@prints("", "ResourceQuota", "Name Request Limit Age")
def resource_quota(obj: Json, now: float) -> Cells:
    hard, used = obj["status"].get("hard") or {}, obj["status"].get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        column = limits if name.startswith("limits.") else requests
        column.append(f"{name}: {used.get(name, '0')}/{hard[name]}")
    return [obj["metadata"]["name"], ", ".join(requests), ", ".join(limits), age(obj, now)]


@prints("scheduling.k8s.io", "PriorityClass", "Name Value:integer Global-Default:boolean Age PreemptionPolicy")
def priority_class(obj: Json, now: float) -> Cells:
    default, policy = obj.get("globalDefault", False), obj.get("preemptionPolicy", "")
    return [obj["metadata"]["name"], obj.get("value", 0), default, age(obj, now), policy]


@prints("coordination.k8s.io", "Lease", "Name Holder Age")
def lease(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], obj["spec"].get("holderIdentity", ""), age(obj, now)]


@prints("node.k8s.io", "RuntimeClass", "Name Handler Age")
def runtime_class(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], obj.get("handler", ""), age(obj, now)]


@prints("", "ServiceAccount", "Name Age")
@prints("resource.k8s.io", "DeviceClass", "Name Age")
@prints("resource.k8s.io", "ResourceClaimTemplate", "Name Age")
def name_and_age(obj: Json, now: float) -> Cells:
    return [obj["metadata"]["name"], age(obj, now)]


@prints("resource.k8s.io", "DeviceTaintRule", "Name Key Value Effect TimeAdded Age")
def device_taint_rule(obj: Json, now: float) -> Cells:
    taint = obj["spec"]["taint"]
    what = [taint.get(key, "") for key in ("key", "value", "effect")]
    return [obj["metadata"]["name"], *what, since(taint["timeAdded"], now), age(obj, now)]


@prints("resource.k8s.io", "ResourceClaim", "Name State Age")
def resource_claim(obj: Json, now: float) -> Cells:
    status, deleted = obj["status"], bool(obj["metadata"].get("deletionTimestamp"))
    allocated = status.get("allocation") is not None
    states = {
        "deleted": deleted,
        "pending": not allocated and not deleted,
        "allocated": allocated,
        "reserved": allocated and bool(status.get("reservedFor")),
    }
    return [obj["metadata"]["name"], ",".join(state for state, holds in states.items() if holds), age(obj, now)]


@prints("resource.k8s.io", "ResourceSlice", "Name Node Driver Pool Age")
def resource_slice(obj: Json, now: float) -> Cells:
    spec = obj["spec"]
    place = [spec.get("nodeName", ""), spec.get("driver", ""), spec["pool"].get("name", "")]
    return [obj["metadata"]["name"], *place, age(obj, now)]


@prints("rbac.authorization.k8s.io", "RoleBinding", "Name Role Age Users* Groups* ServiceAccounts*")
@prints("rbac.authorization.k8s.io", "ClusterRoleBinding", "Name Role Age Users* Groups* ServiceAccounts*")
def role_binding(obj: Json, now: float) -> Cells:
    role, subjects = obj["roleRef"], obj.get("subjects") or ()
    accounts = [
        f"{subject.get('namespace', '')}/{subject['name']}"
        for subject in subjects
        if subject["kind"] == "ServiceAccount"
    ]
    users, groups = ([each["name"] for each in subjects if each["kind"] == kind] for kind in ("User", "Group"))
    bound = (", ".join(names) for names in (users, groups, accounts))
    return [obj["metadata"]["name"], f"{role['kind']}/{role['name']}", age(obj, now), *bound]
