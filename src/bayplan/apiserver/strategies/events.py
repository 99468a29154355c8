"""Events, as core/v1 (which is stored) and as events.k8s.io/v1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.validation.field_errors import each, immutable, invalid, required
from bayplan.apiserver.validation.name_validation import qualified_name_errors

#: Field in events.k8s.io/v1 → its name in core/v1.
_RENAMED = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_BACK = {core: new for new, core in _RENAMED.items()}
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
#: What Go prints of a core/v1 Event even when it is empty.
_ALWAYS: dict[str, Any] = {
    "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
    "reportingComponent": "", "reportingInstance": "",
}  # fmt: skip
_ALWAYS_NEW: dict[str, Any] = {
    "regarding": {}, "deprecatedSource": {}, "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None,
    "eventTime": None,
}  # fmt: skip
#: What an update through events.k8s.io/v1 must not change.
_FROZEN = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "type",
    "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


class CoreEventStrategy(RestStrategy):
    """core/v1 Event."""

    allows_create_on_update = True
    checks_metadata = False
    selectable_fields = (
        *(f"involvedObject.{key}" for key in _REFERENCE), "reason", "reportingComponent", "source", "type",
    )  # fmt: skip

    def validate(self, obj: Object) -> list[StatusCause]:
        return list(_event_causes(obj, "reportingComponent"))

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return self.validate(new)

    def fields(self, obj: Object) -> Mapping[str, str]:
        about, source = obj.get("involvedObject", {}), obj.get("source", {}).get("component", "")
        component = obj.get("reportingComponent", "")
        return {
            **{f"involvedObject.{key}": about.get(key, "") for key in _REFERENCE},
            "reason": obj.get("reason", ""),
            "reportingComponent": component,
            "source": source or component,
            "type": obj.get("type", ""),
        }


class EventStrategy(CoreEventStrategy):
    """events.k8s.io/v1 Event: the same fields under other names, with stricter validation."""

    is_converted = True
    checks_metadata = True
    selectable_fields = (*(f"regarding.{key}" for key in _REFERENCE), "reason", "reportingController", "type")

    def to_storage(self, obj: Object) -> Object:
        stored = {_RENAMED.get(key, key): value for key, value in obj.items()}
        return {**_ALWAYS, **stored, "apiVersion": "v1"}

    def from_storage(self, obj: Object) -> Object:
        converted = {_BACK.get(key, key): value for key, value in obj.items()}
        for key in ("reportingController", "reportingInstance"):
            if not converted.get(key):
                converted.pop(key, None)
        return {**_ALWAYS_NEW, **converted, "apiVersion": "events.k8s.io/v1"}

    def validate(self, obj: Object) -> list[StatusCause]:
        core = self.to_storage(obj)
        found = [*_event_causes(core, "reportingController"), *_series_causes(core)]
        if not core.get("eventTime"):
            found.append(required("eventTime"))
        if core.get("type") not in ("Normal", "Warning"):
            found.append(invalid("type", "", f"has invalid value: {core.get('type', '')}"))
        old_fields = ("firstTimestamp", "lastTimestamp", "count", "source")
        found += [invalid(key, "", "needs to be unset") for key in old_fields if core.get(key)]
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        after, before = self.to_storage(new), self.to_storage(old)
        found = list(_event_causes(after, "reportingController"))
        if after.get("series") != before.get("series"):
            found += _series_causes(after)
        for key in _FROZEN:
            field = "reportingController" if key == "reportingComponent" else key
            found += immutable(field, after.get(key), before.get(key))
        return found

    def fields(self, obj: Object) -> Mapping[str, str]:
        """Fields of the stored form; selectors may use the names of either."""
        core = super().fields(obj)
        about = {f"regarding.{key}": core[f"involvedObject.{key}"] for key in _REFERENCE}
        return {**core, **about, "reportingController": core["reportingComponent"]}


def _event_causes(event: Object, controller_field: str) -> Iterator[StatusCause]:
    """Rules for every event, and more for one with an eventTime."""
    namespace, about = event["metadata"].get("namespace", ""), event.get("involvedObject", {}).get("namespace", "")
    if not event.get("eventTime"):
        if namespace != about and not (not about and namespace == "default"):
            yield invalid("involvedObject.namespace", about, "does not match event.namespace")
        return
    if not about and namespace not in ("default", "kube-system"):
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required(controller_field)
    yield from each(controller_field, controller, qualified_name_errors(controller))
    for key in ("reportingInstance", "action", "reason"):
        if not event.get(key):
            yield required(key)
        elif len(event[key].encode()) > 128:
            yield invalid(key, "", "can have at most 128 characters")
    if len(event.get("message", "").encode()) > 1024:
        yield invalid("message", "", "can have at most 1024 characters")


def _series_causes(event: Object) -> Iterator[StatusCause]:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required("series.lastObservedTime")
