"""The scheduler's Policy object, as it was last served (kube-scheduler 1.22)."""

from __future__ import annotations

from typing import Any

from bayplan.config.api_object import ApiObject, Int32, Int64
from bayplan.config.args.base import ResourceSpec
from bayplan.config.args.resources import UtilizationShapePoint


class ServiceAffinity(ApiObject):
    labels: tuple[str, ...] = ()


class LabelsPresence(ApiObject):
    labels: tuple[str, ...] = ()
    presence: bool = False


class PredicateArgument(ApiObject):
    service_affinity: ServiceAffinity | None = None
    labels_presence: LabelsPresence | None = None


class PredicatePolicy(ApiObject):
    name: str = ""
    argument: PredicateArgument | None = None


class ServiceAntiAffinity(ApiObject):
    label: str = ""


class LabelPreference(ApiObject):
    label: str = ""
    presence: bool = False


class RequestedToCapacityRatioArguments(ApiObject):
    shape: tuple[UtilizationShapePoint, ...] = ()
    resources: tuple[ResourceSpec, ...] = ()


class PriorityArgument(ApiObject):
    service_anti_affinity: ServiceAntiAffinity | None = None
    label_preference: LabelPreference | None = None
    requested_to_capacity_ratio_arguments: RequestedToCapacityRatioArguments | None = None


class PriorityPolicy(ApiObject):
    name: str = ""
    weight: Int64 = 0
    argument: PriorityArgument | None = None


class Policy(ApiObject):
    """`None` for predicates or priorities means the default ones; an empty list means none."""

    predicates: tuple[PredicatePolicy, ...] | None = None
    priorities: tuple[PriorityPolicy, ...] | None = None
    #: Not decoded: the fields are those of v1, in upper or lower case, with the timeout in nanoseconds.
    extenders: Any = None
    hard_pod_affinity_symmetric_weight: Int32 = 0
    always_check_all_predicates: bool = False
