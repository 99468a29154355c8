"""NodeResourcesFitArgs, NodeResourcesBalancedAllocationArgs and VolumeBindingArgs: how usage turns into scores."""

from __future__ import annotations

import itertools
from typing import Final, Self

import msgspec

from bayplan.config.api_object import ApiObject, Int32, Int64
from bayplan.config.args.base import Args, ResourceSpec
from bayplan.config.field_path import Path
from bayplan.config.name_rules import label_key_faults
from bayplan.config.problems import FieldError, did_you_mean, join_or
from bayplan.release import Release

STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
#: The score of a shape point reaches this; upstream MaxCustomPriorityScore.
MAX_SHAPE_SCORE = 10

DEFAULT_RESOURCES = (ResourceSpec(name="cpu", weight=1), ResourceSpec(name="memory", weight=1))


class UtilizationShapePoint(ApiObject):
    """A score for a utilization in percent."""

    utilization: Int32 = 0
    score: Int32 = 0


class RequestedToCapacityRatioParam(ApiObject):
    OMIT_EMPTY = frozenset({"shape"})

    shape: tuple[UtilizationShapePoint, ...] = ()


class ScoringStrategy(ApiObject):
    """How NodeResourcesFit scores a node."""

    OMIT_EMPTY = frozenset({"type", "resources", "requested_to_capacity_ratio"})

    type: str = ""
    resources: tuple[ResourceSpec, ...] = ()
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None


class NodeResourcesFitArgs(Args):
    OMIT_EMPTY = frozenset({"ignored_resources", "ignored_resource_groups", "scoring_strategy"})
    CHECKED_WHEN_USED = True  # upstream looks these up by a name that no plugin has

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy(type="LeastAllocated")

    def defaulted(self) -> Self:
        resources = _weighted(self.scoring_strategy.resources or DEFAULT_RESOURCES)
        strategy = msgspec.structs.replace(self.scoring_strategy, resources=resources)
        return msgspec.structs.replace(self, scoring_strategy=strategy)

    def validate(self, path: Path) -> list[FieldError]:
        errors = []
        for i, name in enumerate(self.ignored_resources):
            errors += [FieldError(path / "ignoredResources" / i, fault) for fault in label_key_faults(name)]
        for i, group in enumerate(self.ignored_resource_groups):
            where = path / "ignoredResourceGroups" / i
            if "/" in group:
                errors.append(FieldError(where, f'the resource group "{group}" must not contain "/"'))
            errors += [FieldError(where, fault) for fault in label_key_faults(group)]
        return errors + _strategy_errors(self.scoring_strategy, path / "scoringStrategy")


class NodeResourcesBalancedAllocationArgs(Args):
    OMIT_EMPTY = frozenset({"resources"})

    resources: tuple[ResourceSpec, ...] = ()

    def defaulted(self) -> Self:
        return msgspec.structs.replace(self, resources=_weighted(self.resources or DEFAULT_RESOURCES))

    def validate(self, path: Path) -> list[FieldError]:
        errors, seen = [], set()
        for i, resource in enumerate(self.resources):
            where = path / "resources" / i
            if resource.name in seen:
                errors.append(FieldError(where / "name", f'"{resource.name}" is listed twice'))
            seen.add(resource.name)
            if resource.weight != 1:
                errors.append(FieldError(where / "weight", f"the weight must be 1, not {resource.weight}"))
        return errors


#: The feature gate behind `shape`.
CAPACITY_SCORING: Final = "StorageCapacityScoring"
#: The less of the capacity is used, the better.
DEFAULT_CAPACITY_SHAPE: Final = (
    UtilizationShapePoint(utilization=0, score=MAX_SHAPE_SCORE),
    UtilizationShapePoint(utilization=100, score=0),
)


class VolumeBindingArgs(Args):
    OMIT_EMPTY = frozenset({"shape"})

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None

    def validate(self, path: Path) -> list[FieldError]:
        errors = []
        if self.bind_timeout_seconds < 0:
            errors.append(FieldError(path / "bindTimeoutSeconds", "the timeout must not be negative"))
        return errors

    def defaulted_in(self, release: Release) -> VolumeBindingArgs:
        if self.shape or not release.is_enabled(CAPACITY_SCORING):
            return self
        return msgspec.structs.replace(self, shape=DEFAULT_CAPACITY_SHAPE)

    def errors_in(self, release: Release, path: Path) -> list[FieldError]:
        errors = self.validate(path)
        if release.is_enabled(CAPACITY_SCORING):
            errors += shape_errors(self.shape or (), path / "shape")
        elif self.shape is not None:
            message = f"shape is only possible with the feature gate {CAPACITY_SCORING}, which is off"
            errors.append(FieldError(path / "shape", message, "remove it"))
        return errors


def shape_errors(shape: tuple[UtilizationShapePoint, ...], path: Path) -> list[FieldError]:
    """A shape has at least one point, rising utilizations of 0 to 100 and scores of 0 to 10."""
    if not shape:
        return [FieldError(path, "at least one point is required")]
    errors = []
    for i, (point, following) in enumerate(itertools.pairwise(shape), start=1):
        if point.utilization >= following.utilization:
            message = f"{following.utilization} must be greater than the utilization of the point before"
            errors.append(FieldError(path / i / "utilization", message))
            break
    for i, point in enumerate(shape):
        if not 0 <= point.utilization <= 100:
            errors.append(FieldError(path / i / "utilization", f"{point.utilization} is not between 0 and 100"))
        if not 0 <= point.score <= MAX_SHAPE_SCORE:
            errors.append(FieldError(path / i / "score", f"{point.score} is not between 0 and {MAX_SHAPE_SCORE}"))
    return errors


def _weighted(resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
    return tuple(ResourceSpec(name=resource.name, weight=resource.weight or 1) for resource in resources)


def _strategy_errors(strategy: ScoringStrategy, path: Path) -> list[FieldError]:
    errors = []
    if strategy.type not in STRATEGIES:
        message = f'"{strategy.type}" is not one of {join_or(STRATEGIES)}'
        errors.append(FieldError(path / "type", message, did_you_mean(strategy.type, STRATEGIES)))
    for i, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            message = f'the weight of "{resource.name}" must be between 1 and 100, not {resource.weight}'
            errors.append(FieldError(path / "resources" / i / "weight", message))
    ratio = strategy.requested_to_capacity_ratio
    where = path / "requestedToCapacityRatio"
    if strategy.type == "RequestedToCapacityRatio":
        if ratio is None:
            errors.append(FieldError(where, "a value is required when type is RequestedToCapacityRatio"))
        else:
            errors += shape_errors(ratio.shape, where / "shape")
    elif ratio is not None:
        errors.append(FieldError(where, "only possible when type is RequestedToCapacityRatio"))
    return errors
