"""Jobs and CronJobs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from zoneinfo import available_timezones

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, StatusStrategy
from bayplan.apiserver.strategies.pods.pod_spec_validation import template_causes
from bayplan.apiserver.strategies.pods.pod_warnings import pod_warnings
from bayplan.apiserver.strategies.workloads import default_template
from bayplan.apiserver.validation.field_errors import (
    immutable,
    invalid,
    non_negative,
    not_supported,
    one_of,
    required,
)
from bayplan.apiserver.validation.selector_validation import matches, selector_causes

_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_MAX_INT32 = 2**31 - 1
_COUNTS = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_CRON_FIELD = re.compile(r"[*?\d,/A-Za-z-]+")
_FROZEN = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")


class JobStrategy(StatusStrategy):
    """batch/v1 Job. The server generates its selector by default."""

    selectable_fields = ("status.successful",)
    orphan_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
        "to remove them or set propagationPolicy=Orphan to suppress this warning"
    )

    def unknown_field(self, label: str) -> str:
        return f'field label "{label}" not supported for Job'

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        default_template(spec)
        if "completions" not in spec and "parallelism" not in spec:
            spec["completions"] = 1
        spec.setdefault("parallelism", 1)
        spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
        spec.setdefault("completionMode", "NonIndexed")
        spec.setdefault("suspend", False)
        replacement = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
        spec.setdefault("podReplacementPolicy", replacement)
        spec.setdefault("manualSelector", False)
        for rule in spec.get("podFailurePolicy", {}).get("rules") or []:
            for pattern in rule.get("onPodConditions", ()):
                pattern["status"] = pattern.get("status") or "True"
        _default_labels(obj)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        if not obj["spec"]["manualSelector"]:
            _generate_selector(obj)

    def finish(self, obj: Object) -> None:
        _default_labels(obj)

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj["spec"]
        found: list[StatusCause] = []
        if not spec.get("manualSelector"):
            found += _generated_causes(obj)
        found += job_spec_causes(spec, "spec")
        if "selector" not in spec:
            found.append(required("spec.selector"))
        else:
            found += selector_causes(spec["selector"], "spec.selector")
        labels, selector = _sorted_labels(spec), spec.get("selector")
        if selector is None or not matches(selector, labels):
            text = "`selector` does not match template `labels`"
            found.append(invalid("spec.template.metadata.labels", labels or None, text))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        spec, before = new["spec"], old["spec"]
        found = self.validate(new)
        for key in _FROZEN:
            found += immutable(f"spec.{key}", spec.get(key), before.get(key))
        found += _completions_causes(spec, before)
        if not _same_template(spec, old):
            found.append(invalid("spec.template", spec["template"], "field is immutable"))
        return found

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        template = obj["spec"].get("template", {})
        if old is not None and old.get("spec", {}).get("template") == template:
            return []
        return pod_warnings(template, "spec.template")

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"status.successful": str(obj.get("status", {}).get("succeeded", 0))}


def _default_labels(obj: Object) -> None:
    labels = obj["spec"]["template"]["metadata"].get("labels")
    if labels and not obj["metadata"].get("labels"):
        # One shared map, as in kube-apiserver: labels generated for the template appear here too.
        obj["metadata"]["labels"] = labels


def _generate_selector(obj: Object) -> None:
    metadata, spec = obj["metadata"], obj["spec"]
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for key in _NAME_LABELS:
        labels.setdefault(key, metadata.get("name", ""))
    for key in _UID_LABELS:
        labels.setdefault(key, metadata.get("uid", ""))
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {}).setdefault(_UID_LABELS[1], metadata.get("uid", ""))


def _generated_causes(obj: Object) -> Iterator[StatusCause]:
    """What the server generates must be there, and the selector must match nothing else."""
    if "selector" not in obj["spec"]:
        return
    labels = _sorted_labels(obj["spec"])
    name, uid = obj["metadata"].get("name", ""), obj["metadata"].get("uid", "")
    wanted = {_UID_LABELS[0]: uid, _NAME_LABELS[0]: name, _UID_LABELS[1]: uid, _NAME_LABELS[1]: name}
    for key, value in wanted.items():
        path, text = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            yield required(path, text)
        elif labels[key] != value:
            yield invalid(path, labels, text)
    selector = obj["spec"]["selector"]
    if not list(selector_causes(selector, "")) and not matches(selector, wanted):
        yield invalid("spec.selector", selector, "`selector` not auto-generated")


def _sorted_labels(spec: Object) -> dict[str, str]:
    """Labels of the template, as messages show them."""
    return dict(sorted(spec["template"]["metadata"].get("labels", {}).items()))


def job_spec_causes(spec: Object, path: str) -> Iterator[StatusCause]:
    for key in _COUNTS:
        yield from non_negative(f"{path}.{key}", spec.get(key))
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        yield not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if mode == "Indexed":
        yield from _indexed_causes(spec, path)
    elif mode == "NonIndexed":
        for key in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if key in spec:
                yield invalid(f"{path}.{key}", spec[key], "requires indexed completion mode")
    yield from _replacement_causes(spec, path)
    template = spec.get("template", {})
    yield from template_causes(template, f"{path}.template")
    policy, field = template.get("spec", {}).get("restartPolicy"), f"{path}.template.spec.restartPolicy"
    if policy == "Always":
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield not_supported(field, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _indexed_causes(spec: Object, path: str) -> Iterator[StatusCause]:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    if completions is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if spec.get("parallelism", 0) > 100_000:
        text = "must be less than or equal to 100000 when completion mode is Indexed"
        yield invalid(f"{path}.parallelism", spec["parallelism"], text)
    if completions is not None and failed is not None and failed > completions:
        yield invalid(f"{path}.maxFailedIndexes", failed, "must be less than or equal to completions")


def _replacement_causes(spec: Object, path: str) -> Iterator[StatusCause]:
    policy, field = spec.get("podReplacementPolicy"), f"{path}.podReplacementPolicy"
    if policy is None:
        return
    if "podFailurePolicy" in spec:
        if policy != "Failed":
            yield not_supported(field, policy, ("Failed",))
    elif policy not in ("Failed", "TerminatingOrFailed"):
        yield not_supported(field, policy, ("Failed", "TerminatingOrFailed"))


def _completions_causes(spec: Object, before: Object) -> list[StatusCause]:
    """An indexed job may be resized if all its pods run at once."""
    if spec.get("completions") == before.get("completions"):
        return []
    if spec.get("completionMode") != "Indexed":
        return [invalid("spec.completions", spec.get("completions"), "field is immutable")]
    if spec.get("completions") != spec.get("parallelism"):
        return [
            invalid("spec.completions", spec.get("completions"), "can only be modified in tandem with parallelism")
        ]
    return []


def _same_template(spec: Object, old: Object) -> bool:
    """The scheduling fields of a suspended job that never ran may still change."""
    before = old["spec"]
    template, known = spec["template"], before["template"]
    if not before.get("suspend") or "startTime" in old.get("status", {}):
        return bool(template == known)
    free = ("affinity", "nodeSelector", "tolerations", "schedulingGates")
    bare, bare_known = (
        {key: value for key, value in part.get("spec", {}).items() if key not in free}
        for part in (template, known)
    )
    return bare == bare_known


class CronJobStrategy(StatusStrategy):
    """batch/v1 CronJob."""

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        if not spec.get("concurrencyPolicy"):
            spec["concurrencyPolicy"] = "Allow"
        spec.setdefault("suspend", False)
        spec.setdefault("successfulJobsHistoryLimit", 3)
        spec.setdefault("failedJobsHistoryLimit", 1)
        template = spec.setdefault("jobTemplate", {})
        template.setdefault("metadata", {})
        default_template(template.setdefault("spec", {}))
        for rule in template["spec"].get("podFailurePolicy", {}).get("rules") or ():
            for pattern in rule.get("onPodConditions", ()):
                pattern["status"] = pattern.get("status") or "True"

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj["spec"]
        found = _schedule_causes(spec)
        for key in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
            found += non_negative(f"spec.{key}", spec.get(key))
        found += one_of("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"))
        found += _job_template_causes(spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")
        if len(obj["metadata"].get("name", "")) > 52:
            found.append(invalid("metadata.name", obj["metadata"]["name"], "must be no more than 52 characters"))
        return found

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        template = obj["spec"]["jobTemplate"]["spec"].get("template", {})
        return pod_warnings(template, "spec.jobTemplate.spec.template") if old is None else []


def _job_template_causes(spec: Object, path: str) -> Iterator[StatusCause]:
    yield from job_spec_causes(spec, path)
    if "selector" in spec:
        yield invalid(f"{path}.selector", spec["selector"], "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        yield not_supported(f"{path}.manualSelector", True, ("nil", "false"))


def _schedule_causes(spec: Object) -> list[StatusCause]:
    schedule = spec.get("schedule", "")
    if not schedule:
        return [required("spec.schedule")]
    found = []
    if not _is_schedule(schedule):
        found.append(
            invalid(
                "spec.schedule",
                schedule,
                f"expected exactly 5 fields, found {len(schedule.split())}: {schedule.split()}",
            )
        )
    if "timeZone" in spec and not _is_time_zone(spec["timeZone"]):
        found.append(invalid("spec.timeZone", spec["timeZone"], f"unknown time zone {spec['timeZone']}"))
    if "TZ" in schedule:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        found.append(invalid("spec.schedule", schedule, text))
    return found


def _is_time_zone(name: str) -> bool:
    return bool(name) and name.lower() != "local" and name in available_timezones()


def _is_schedule(schedule: str) -> bool:
    if schedule.startswith("@"):
        names = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
        return schedule in names or schedule.startswith("@every ")
    parts = re.sub(r"^(CRON_)?TZ=\S+ ", "", schedule).split()
    return len(parts) == 5 and all(_CRON_FIELD.fullmatch(part) for part in parts)
