"""The strategy of one custom resource: validation by its schema, and separate writes of status and spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.custom import jsonpath
from bayplan.apiserver.custom.rule_evaluation import RuleSet
from bayplan.apiserver.custom.value_validation import check
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.schema.schemas import Json

#: Metadata that a write through /status does not take from the stored object.
_WRITTEN_ANYWAY: Final = ("managedFields", "resourceVersion")
#: Errors after which rules are not evaluated: they rely on what the schema promises.
_BLOCKING: Final = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_NOT_CHECKED: Final = StatusCause(
    "<nil>",
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation",
)


class CustomStrategy(RestStrategy):
    """See `rest_strategy`."""

    counts_generations = True
    allows_unconditional_update = False

    def __init__(self, version: Json, schema: Json) -> None:
        self._schema = schema
        self._rules = RuleSet(schema)
        self.has_status = "status" in (version.get("subresources") or {})
        self._selectable = {
            field["jsonPath"].removeprefix("."): field["jsonPath"]
            for field in version.get("selectableFields") or ()
        }
        self.selectable_fields = tuple(self._selectable)

    def prepare_create(self, obj: Object) -> None:
        if self.has_status:
            obj.pop("status", None)

    def prepare_update(self, new: Object, old: Object) -> None:
        if self.has_status:
            new.pop("status", None)
            if "status" in old:
                new["status"] = old["status"]
        elif new.get("status") != old.get("status"):
            # Without the subresource, status is a field like any other.
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status_update(self, new: Object, old: Object) -> None:
        super().prepare_status_update(new, old)
        kept = {field: new["metadata"][field] for field in _WRITTEN_ANYWAY if field in new["metadata"]}
        new["metadata"] = {**old["metadata"], **kept}

    def validate(self, obj: Object) -> list[StatusCause]:
        return self._causes(obj, None)

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return self._causes(new, old)

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        return self._causes(new, old)

    def _causes(self, obj: Object, old: Object | None) -> list[StatusCause]:
        causes = list(check(self._schema, obj, ""))
        if any(cause.reason in _BLOCKING for cause in causes):
            return [*causes, _NOT_CHECKED] if self._rules else causes
        return [*causes, *self._rules.causes(obj, old)]

    def fields(self, obj: Object) -> Mapping[str, str]:
        found = {name: jsonpath.find(path, obj) for name, path in self._selectable.items()}
        return {name: jsonpath.as_text(values[0]) if values else "" for name, values in found.items()}

    def unknown_field(self, label: str) -> str:
        return f"field label not supported: {label}"
