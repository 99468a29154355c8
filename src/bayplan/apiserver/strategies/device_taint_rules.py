"""resource.k8s.io: rules that taint devices which other objects describe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, StatusStrategy, keep_metadata
from bayplan.apiserver.strategies.devices.device_names import driver_causes, label_causes_of, pool_causes
from bayplan.apiserver.strategies.devices.device_validation import taint_causes
from bayplan.apiserver.validation.condition_validation import condition_causes
from bayplan.apiserver.validation.field_errors import too_many

_MAX_CONDITIONS: Final = 8
_SELECTOR: Final = {"driver": driver_causes, "pool": pool_causes, "device": label_causes_of}


class DeviceTaintRuleStrategy(StatusStrategy):
    """DeviceTaintRule: one taint for all devices that its selector matches."""

    allows_unconditional_update = False

    def __init__(self, now: Callable[[], str]) -> None:
        self._now = now

    def default(self, obj: Object) -> None:
        taint = obj.setdefault("spec", {}).setdefault("taint", {})
        if not taint.get("timeAdded"):
            taint["timeAdded"] = self._now()

    def prepare_update(self, new: Object, old: Object) -> None:
        """The time is that of the effect: tolerations for some seconds count from it."""
        super().prepare_update(new, old)
        taint, before = new["spec"]["taint"], old["spec"]["taint"]
        if taint.get("effect") != before["effect"] and taint["timeAdded"] == before["timeAdded"]:
            taint["timeAdded"] = self._now()

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        keep_metadata(new, old)

    def validate(self, obj: Object) -> list[StatusCause]:
        spec = obj["spec"]
        selector = spec.get("deviceSelector") or {}
        return [*_selector_causes(selector), *taint_causes(spec["taint"], "spec.taint")]

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        path, conditions = "status.conditions", new.get("status", {}).get("conditions") or ()
        found = list(condition_causes(conditions, path, duplicate_entries=True))
        if len(conditions) > _MAX_CONDITIONS:
            found.append(too_many(path, len(conditions), _MAX_CONDITIONS))
        return found


def _selector_causes(selector: Mapping[str, Any]) -> Iterator[StatusCause]:
    for key, causes in _SELECTOR.items():
        if key in selector:
            yield from causes(selector[key], f"spec.deviceSelector.{key}")
