"""NodeResourcesAllocatableArgs: the resources by which nodes are ranked, and the direction."""

from __future__ import annotations

from typing import Self

import msgspec

from bayplan.config.args.base import Args, ResourceSpec
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError, did_you_mean, join_or

MODES = ("Least", "Most")
#: One milli-cpu has the weight of one MiB.
DEFAULT_RESOURCES = (ResourceSpec(name="cpu", weight=1 << 20), ResourceSpec(name="memory", weight=1))


class NodeResourcesAllocatableArgs(Args):
    OMIT_EMPTY = frozenset({"resources", "mode"})

    resources: tuple[ResourceSpec, ...] = ()
    mode: str = "Least"

    def defaulted(self) -> Self:
        return msgspec.structs.replace(
            self, resources=self.resources or DEFAULT_RESOURCES, mode=self.mode or "Least"
        )

    def validate(self, path: Path) -> list[FieldError]:
        errors = []
        for i, resource in enumerate(self.resources):
            if resource.weight <= 0:
                message = f'the weight of "{resource.name}" must be 1 or more, not {resource.weight}'
                errors.append(FieldError(path / "resources" / i / "weight", message))
        if self.mode not in MODES:
            message = f'"{self.mode}" is not one of {join_or(MODES)}'
            errors.append(FieldError(path / "mode", message, did_you_mean(self.mode, MODES)))
        return errors
