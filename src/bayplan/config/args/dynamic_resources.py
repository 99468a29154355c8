"""DynamicResourcesArgs: how long the plugin may take."""

from __future__ import annotations

from bayplan.config.args.base import Args
from bayplan.config.duration import Duration
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError


class DynamicResourcesArgs(Args):
    #: Zero means no limit.
    filter_timeout: Duration = Duration.seconds(10)
    binding_timeout: Duration = Duration.seconds(600)

    def validate(self, path: Path) -> list[FieldError]:
        errors = []
        if self.filter_timeout < 0:
            errors.append(FieldError(path / "filterTimeout", f"{self.filter_timeout} must not be negative"))
        if self.binding_timeout < Duration.seconds(1):
            errors.append(FieldError(path / "bindingTimeout", f"{self.binding_timeout} is less than one second"))
        return errors
