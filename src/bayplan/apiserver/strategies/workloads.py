"""Workloads with a pod template: Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy, StatusStrategy
from bayplan.apiserver.strategies.pods.pod_defaults import default_pod_spec
from bayplan.apiserver.strategies.pods.pod_spec_validation import template_causes
from bayplan.apiserver.strategies.pods.pod_warnings import pod_warnings
from bayplan.apiserver.strategies.volume_claim_validation import claim_spec_causes
from bayplan.apiserver.validation.field_errors import (
    each,
    forbidden,
    immutable,
    invalid,
    non_negative,
    not_supported,
    required,
)
from bayplan.apiserver.validation.name_validation import label_errors
from bayplan.apiserver.validation.selector_validation import matches, selector_causes
from bayplan.release import Release

_PERCENT = re.compile(r"\d+%")
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def default_template(spec: Object) -> None:
    """Defaults of the pod template in a spec."""
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


class PodTemplateStrategy(RestStrategy):
    """core/v1 PodTemplate."""

    counts_generations = True
    returns_deleted = True

    def default(self, obj: Object) -> None:
        default_template(obj)

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(template_causes(obj.get("template", {}), "template"))


class WorkloadStrategy(StatusStrategy):
    """What workloads have in common."""

    #: The kind's name in messages.
    word = ""
    #: Whether a selector is required, beyond not being empty.
    needs_selector = True
    #: Counts in the status, and those that cannot exceed its replicas: as ReplicaSets have them.
    counts: tuple[str, ...] = (
        "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration",
        "terminatingReplicas",
    )  # fmt: skip
    among_replicas: tuple[str, ...] = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    ready_in_words = "readyReplicas"

    def default(self, obj: Object) -> None:
        default_template(obj.setdefault("spec", {}))

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj.get("spec", {})
        found = [cause for key in ("replicas", "minReadySeconds", "revisionHistoryLimit")
                 for cause in non_negative(f"spec.{key}", spec.get(key))]  # fmt: skip
        return [*found, *self.selector_causes(spec), *self.template_causes(spec)]

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        selector, before = new.get("spec", {}).get("selector"), old.get("spec", {}).get("selector")
        return [*self.validate(new), *immutable("spec.selector", selector, before)]

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        found = status_causes(new.get("status", {}), self.counts, self.among_replicas, self.ready_in_words)
        return [*found, *_collision_causes(new, old)]

    def selector_causes(self, spec: Object) -> Iterator[StatusCause]:
        selector = spec.get("selector")
        if selector is None:
            if self.needs_selector:
                yield required("spec.selector")
            return
        yield from selector_causes(selector, "spec.selector")
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield invalid("spec.selector", selector, f"empty selector is invalid for {self.word}")

    def template_causes(self, spec: Object) -> Iterator[StatusCause]:
        template, selector = spec.get("template", {}), spec.get("selector")
        yield from match_causes(selector, template, "spec.template")
        yield from template_causes(template, "spec.template")
        yield from self.restart_causes(template.get("spec", {}))

    def restart_causes(self, pod: Object) -> Iterator[StatusCause]:
        if pod.get("restartPolicy") != "Always":
            yield not_supported("spec.template.spec.restartPolicy", pod.get("restartPolicy", ""), ("Always",))
        if "activeDeadlineSeconds" in pod:
            text = f"activeDeadlineSeconds in {self.kind_in_words} is not Supported"
            yield forbidden("spec.template.spec.activeDeadlineSeconds", text)

    kind_in_words = "ReplicaSet"

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        template = obj.get("spec", {}).get("template", {})
        if old is not None and old.get("spec", {}).get("template") == template:
            return []
        return pod_warnings(template, "spec.template")


def match_causes(
    selector: Mapping[str, Any] | None, template: Mapping[str, Any], path: str
) -> Iterator[StatusCause]:
    """A template must produce pods that the selector matches."""
    labels = template.get("metadata", {}).get("labels", {})
    if selector is None or (
        selector and not matches(selector, labels) and not list(selector_causes(selector, ""))
    ):
        yield invalid(f"{path}.metadata.labels", labels or None, "`selector` does not match template `labels`")


def status_causes(
    status: Object, counts: Sequence[str], among: Sequence[str], ready: str
) -> Iterator[StatusCause]:
    for key in counts:
        yield from non_negative(f"status.{key}", status.get(key))
    for key in among:
        if status.get(key, 0) > status.get("replicas", 0):
            yield invalid(f"status.{key}", status.get(key, 0), "cannot be greater than status.replicas")
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        yield invalid("status.availableReplicas", available, f"cannot be greater than {ready}")


def _collision_causes(new: Object, old: Object) -> Iterator[StatusCause]:
    count, before = (obj.get("status", {}).get("collisionCount", 0) for obj in (new, old))
    if count < before:
        yield invalid("status.collisionCount", count, "cannot be decremented")


def int_or_percent_causes(value: int | str, field: str) -> Iterator[StatusCause]:
    if isinstance(value, int):
        yield from non_negative(field, value)
    elif not _PERCENT.fullmatch(value):
        text = (
            "a valid percent string must be a numeric string followed by an ending '%' "
            "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
        )
        yield invalid(field, value, text)


def at_most_all_causes(value: int | str, field: str) -> Iterator[StatusCause]:
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield invalid(field, value, "must not be greater than 100%")


def _amount(value: int | str) -> int:
    if isinstance(value, int):
        return value
    return int(value[:-1]) if _PERCENT.fullmatch(value) else 0


class DeploymentStrategy(WorkloadStrategy):
    """apps/v1 Deployment."""

    word = "deployment"
    empty_spec: Mapping[str, Any] = {"replicas": 0}
    counts = (
        "observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount",
    )  # fmt: skip
    among_replicas = ("updatedReplicas", "readyReplicas", "availableReplicas")

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj["spec"]
        spec.setdefault("replicas", 1)
        strategy = spec.setdefault("strategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", "25%")
            rolling.setdefault("maxSurge", "25%")
        spec.setdefault("revisionHistoryLimit", 10)
        spec.setdefault("progressDeadlineSeconds", 600)

    def prepare_update(self, new: Object, old: Object) -> None:
        super().prepare_update(new, old)
        # Annotations are copied to replica sets, so they count as a change.
        if new["metadata"].get("annotations", {}) != old["metadata"].get("annotations", {}):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        labels = old["metadata"].get("labels")
        if labels is None:
            new["metadata"].pop("labels", None)
        else:
            new["metadata"]["labels"] = labels

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj.get("spec", {})
        found = [*super().validate(obj), *_deployment_strategy_causes(spec.get("strategy", {}), "spec.strategy")]
        deadline, field = spec.get("progressDeadlineSeconds"), "spec.progressDeadlineSeconds"
        if deadline is not None:
            found += non_negative(field, deadline)
            if deadline <= spec.get("minReadySeconds", 0):
                found.append(invalid(field, deadline, "must be greater than minReadySeconds"))
        return found


def _deployment_strategy_causes(strategy: Object, path: str) -> Iterator[StatusCause]:
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            text = "may not be specified when strategy `type` is 'Recreate'"
            yield forbidden(f"{path}.rollingUpdate", text)
    elif kind != "RollingUpdate":
        yield not_supported(path, strategy, ("Recreate", "RollingUpdate"))
    elif rolling is not None:
        unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
        field = f"{path}.rollingUpdate.maxUnavailable"
        yield from int_or_percent_causes(unavailable, field)
        yield from int_or_percent_causes(surge, f"{path}.rollingUpdate.maxSurge")
        if _amount(unavailable) == 0 and _amount(surge) == 0:
            yield invalid(field, unavailable, "may not be 0 when `maxSurge` is 0")
        yield from at_most_all_causes(unavailable, field)


class ReplicaSetStrategy(WorkloadStrategy):
    """apps/v1 ReplicaSet."""

    word = "deployment"
    empty_spec: Mapping[str, Any] = {"replicas": 0}
    empty_status: Mapping[str, Any] = {"replicas": 0}

    def default(self, obj: Object) -> None:
        super().default(obj)
        obj["spec"].setdefault("replicas", 1)


class ReplicationControllerStrategy(WorkloadStrategy):
    """core/v1 ReplicationController: its selector is a plain map."""

    empty_status: Mapping[str, Any] = {"replicas": 0}
    selectable_fields = ("status.replicas",)
    kind_in_words = "ReplicationController"

    def default(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        spec.setdefault("replicas", 1)
        if "template" in spec:
            default_template(spec)
            labels = spec["template"]["metadata"].get("labels")
            if labels:
                spec.setdefault("selector", dict(labels))
                obj["metadata"].setdefault("labels", dict(labels))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return self.validate(new)

    def selector_causes(self, spec: Object) -> Iterator[StatusCause]:
        if not spec.get("selector"):
            yield required("spec.selector")

    def template_causes(self, spec: Object) -> Iterator[StatusCause]:
        template = spec.get("template")
        if template is None:
            yield required("spec.template")
            return
        yield from match_causes({"matchLabels": spec.get("selector", {})}, template, "spec.template")
        yield from template_causes(template, "spec.template")
        yield from self.restart_causes(template.get("spec", {}))

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"status.replicas": str(obj.get("status", {}).get("replicas", 0))}


class StatefulSetStrategy(WorkloadStrategy):
    """apps/v1 StatefulSet."""

    word = "statefulset"
    kind_in_words = "StatefulSet"
    empty_spec: Mapping[str, Any] = {"replicas": 0}
    empty_status: Mapping[str, Any] = {"replicas": 0, "availableReplicas": 0}
    counts = (
        "replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas",
        "observedGeneration", "collisionCount",
    )  # fmt: skip
    among_replicas = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    ready_in_words = "status.readyReplicas"

    def __init__(self, release: Release) -> None:
        self._has_max_unavailable = release.is_enabled("MaxUnavailableStatefulSet")

    def name_errors(self, name: str, *, prefix: bool) -> list[str]:
        return label_errors(name, prefix=prefix)

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj["spec"]
        spec.setdefault("podManagementPolicy", "OrderedReady")
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
            strategy["rollingUpdate"].setdefault("partition", 0)
            if self._has_max_unavailable:
                strategy["rollingUpdate"].setdefault("maxUnavailable", 1)
        retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        for key in ("whenDeleted", "whenScaled"):
            if not retention.get(key):
                retention[key] = "Retain"
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        for claim in spec.get("volumeClaimTemplates", ()):
            claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
            claim.setdefault("status", {}).setdefault("phase", "Pending")
            claim.setdefault("apiVersion", "v1")
            claim.setdefault("kind", "PersistentVolumeClaim")

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        self._drop_gated(obj)

    def prepare_update(self, new: Object, old: Object) -> None:
        super().prepare_update(new, old)
        self._drop_gated(new)

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj.get("spec", {})
        found = [*super().validate(obj), *_set_strategy_causes(spec)]
        for i, claim in enumerate(spec.get("volumeClaimTemplates", ())):
            found += claim_spec_causes(claim.get("spec", {}), f"spec.volumeClaimTemplates[{i}].spec")
        if spec.get("serviceName"):
            found += each("spec.serviceName", spec["serviceName"], label_errors(spec["serviceName"]))
        return found

    def template_causes(self, spec: Object) -> Iterator[StatusCause]:
        """Claim templates are volumes that containers may mount."""
        pod = spec.get("template", {}).get("spec", {})
        claims = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}}
            for name in (claim["metadata"].get("name", "") for claim in spec.get("volumeClaimTemplates", ()))
        ]
        names = {claim["name"] for claim in claims}
        volumes = claims + [volume for volume in pod.get("volumes", ()) if volume.get("name") not in names]
        rest = {key: value for key, value in pod.items() if key not in ("subdomain", "hostname", "volumes")}
        if volumes:
            rest["volumes"] = volumes
        template = {**spec.get("template", {}), "spec": rest}
        yield from super().template_causes({**spec, "template": template})

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        may_change = (
            "replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit",
            "persistentVolumeClaimRetentionPolicy",
        )  # fmt: skip
        kept, before = (
            {key: value for key, value in obj.get("spec", {}).items() if key not in may_change}
            for obj in (new, old)
        )
        found = self.validate(new)
        if kept != before:
            text = (
                "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
                "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
                "'minReadySeconds' are forbidden"
            )
            found.append(forbidden("spec", text))
        return found

    def _drop_gated(self, obj: Object) -> None:
        if not self._has_max_unavailable:
            obj["spec"].get("updateStrategy", {}).get("rollingUpdate", {}).pop("maxUnavailable", None)


def _set_strategy_causes(spec: Object) -> Iterator[StatusCause]:
    policy = spec.get("podManagementPolicy", "")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    strategy, path = spec.get("updateStrategy", {}), "spec.updateStrategy"
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    if kind not in ("RollingUpdate", "OnDelete"):
        yield invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'")
    elif kind == "OnDelete" and rolling is not None:
        yield invalid(f"{path}.rollingUpdate", rolling, "only allowed for updateStrategy 'RollingUpdate'")
    elif rolling is not None:
        yield from non_negative(f"{path}.rollingUpdate.partition", rolling.get("partition"))
        if "maxUnavailable" in rolling:
            field = f"{path}.rollingUpdate.maxUnavailable"
            yield from int_or_percent_causes(rolling["maxUnavailable"], field)
            if _amount(rolling["maxUnavailable"]) == 0:
                yield invalid(field, rolling["maxUnavailable"], "cannot be 0")
            yield from at_most_all_causes(rolling["maxUnavailable"], field)
    for key, value in spec.get("persistentVolumeClaimRetentionPolicy", {}).items():
        if value not in ("Retain", "Delete"):
            field = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            yield not_supported(field, value, ("Retain", "Delete"))
    yield from non_negative("spec.ordinals.start", spec.get("ordinals", {}).get("start"))


class DaemonSetStrategy(WorkloadStrategy):
    """apps/v1 DaemonSet. The generation of its template is in an annotation."""

    word = "daemonset"
    kind_in_words = "DaemonSet"
    needs_selector = False
    counts = (
        "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady",
        "observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount",
    )  # fmt: skip
    among_replicas = ()
    empty_status: Mapping[str, Any] = {
        "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0, "numberReady": 0
    }  # fmt: skip

    def default(self, obj: Object) -> None:
        super().default(obj)
        spec = obj["spec"]
        strategy = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
        if strategy["type"] == "RollingUpdate":
            rolling = strategy.setdefault("rollingUpdate", {})
            rolling.setdefault("maxUnavailable", 1)
            rolling.setdefault("maxSurge", 0)
        spec.setdefault("revisionHistoryLimit", 10)

    def prepare_create(self, obj: Object) -> None:
        super().prepare_create(obj)
        annotations = obj["metadata"].setdefault("annotations", {})
        if int(annotations.get(_TEMPLATE_GENERATION, "0")) < 1:
            annotations[_TEMPLATE_GENERATION] = "1"

    def prepare_update(self, new: Object, old: Object) -> None:
        super().prepare_update(new, old)
        generation = int(old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "0"))
        generation += new["spec"].get("template") != old["spec"].get("template")
        new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = str(generation)

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        generation = old["metadata"].get("annotations", {}).get(_TEMPLATE_GENERATION, "0")
        new["metadata"].setdefault("annotations", {})[_TEMPLATE_GENERATION] = generation

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj.get("spec", {})
        strategy, path = spec.get("updateStrategy", {}), "spec.updateStrategy"
        found = super().validate(obj)
        if strategy.get("type") == "RollingUpdate":
            found += _daemon_rolling_causes(strategy.get("rollingUpdate", {}), f"{path}.rollingUpdate")
        elif strategy.get("type") != "OnDelete":
            found.append(not_supported(path, strategy, ("RollingUpdate", "OnDelete")))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        """Immutable fields are checked first here."""
        selector, before = new.get("spec", {}).get("selector"), old.get("spec", {}).get("selector")
        return [*immutable("spec.selector", selector, before), *self.validate(new)]


def _daemon_rolling_causes(rolling: Object, path: str) -> Iterator[StatusCause]:
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for value, field in ((unavailable, f"{path}.maxUnavailable"), (surge, f"{path}.maxSurge")):
        yield from int_or_percent_causes(value, field)
        yield from at_most_all_causes(value, field)
    if _amount(unavailable) and _amount(surge):
        yield invalid(f"{path}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif not _amount(unavailable) and not _amount(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")
