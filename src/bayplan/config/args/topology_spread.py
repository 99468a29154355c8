"""PodTopologySpreadArgs: the default constraints of pods without constraints."""

from __future__ import annotations

from typing import Self

import msgspec

from bayplan.config.api_object import ApiObject, Int32
from bayplan.config.args.base import Args
from bayplan.config.field_path import Path
from bayplan.config.name_rules import label_key_faults
from bayplan.config.problems import FieldError, did_you_mean, join_or

DEFAULTING_TYPES = ("System", "List")
ACTIONS = ("DoNotSchedule", "ScheduleAnyway")


class SpreadSelectorRequirement(ApiObject):
    OMIT_EMPTY = frozenset({"values"})

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class SpreadSelector(ApiObject):
    OMIT_EMPTY = frozenset({"match_labels", "match_expressions"})

    match_labels: dict[str, str] = {}  # noqa: RUF012 - msgspec copies the default
    match_expressions: tuple[SpreadSelectorRequirement, ...] = ()


class DefaultSpreadConstraint(ApiObject):
    OMIT_EMPTY = frozenset(
        {"label_selector", "min_domains", "node_affinity_policy", "node_taints_policy", "match_label_keys"}
    )

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: SpreadSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class PodTopologySpreadArgs(Args):
    OMIT_EMPTY = frozenset({"default_constraints", "defaulting_type"})

    default_constraints: tuple[DefaultSpreadConstraint, ...] = ()
    defaulting_type: str = ""

    def defaulted(self) -> Self:
        return msgspec.structs.replace(self, defaulting_type=self.defaulting_type or "System")

    def validate(self, path: Path) -> list[FieldError]:
        errors = self._defaulting_type_errors(path / "defaultingType")
        seen: set[tuple[str, str]] = set()
        for i, constraint in enumerate(self.default_constraints):
            where = path / "defaultConstraints" / i
            errors += _constraint_errors(constraint, where)
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in seen:
                message = f"a constraint for {pair[0]} and {pair[1]} already exists"
                errors.append(FieldError(where, message))
            seen.add(pair)
        return errors

    def _defaulting_type_errors(self, path: Path) -> list[FieldError]:
        if self.defaulting_type not in DEFAULTING_TYPES:
            message = f'"{self.defaulting_type}" is not one of {join_or(DEFAULTING_TYPES)}'
            return [FieldError(path, message, did_you_mean(self.defaulting_type, DEFAULTING_TYPES))]
        if self.defaulting_type == "System" and self.default_constraints:
            message = "System has its own constraints, so defaultConstraints must be empty"
            return [FieldError(path, message, "write defaultingType: List")]
        return []


def _constraint_errors(constraint: DefaultSpreadConstraint, path: Path) -> list[FieldError]:
    errors = []
    if constraint.max_skew <= 0:
        errors.append(FieldError(path / "maxSkew", f"{constraint.max_skew} must be greater than 0"))
    if not constraint.topology_key:
        errors.append(FieldError(path / "topologyKey", "a value is required"))
    else:
        errors += [FieldError(path / "topologyKey", fault) for fault in label_key_faults(constraint.topology_key)]
    action = constraint.when_unsatisfiable
    if not action:
        errors.append(FieldError(path / "whenUnsatisfiable", f"a value is required: {join_or(ACTIONS)}"))
    elif action not in ACTIONS:
        message = f'"{action}" is not one of {join_or(ACTIONS)}'
        errors.append(FieldError(path / "whenUnsatisfiable", message, did_you_mean(action, ACTIONS)))
    if constraint.label_selector is not None:
        message = "a default constraint has no selector: it is derived for each pod from its owners"
        errors.append(FieldError(path / "labelSelector", message, "remove it"))
    return errors
