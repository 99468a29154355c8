"""Selects the objects of a list or a watch: namespace, label selector and field selector.

The text of selectors is parsed by `framework.selector_text`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bayplan.apiserver.api_errors import bad_request
from bayplan.apiserver.storage.versioned_store import StoredObject
from bayplan.framework.selector_text import NAME, NAMESPACE, FieldTerm, parse_fields, parse_labels
from bayplan.model.label_selectors import EVERYTHING, Selector, SelectorError


class Selection(NamedTuple):
    """Namespace and selectors of a request."""

    namespace: str
    labels: Selector
    fields: tuple[FieldTerm, ...]

    @property
    def is_everything(self) -> bool:
        """Whether no selector narrows the namespace."""
        return self.labels.is_empty and not self.fields

    @property
    def name(self) -> str | None:
        """The name that the field selector requires, if any."""
        return next((term.value for term in self.fields if term.field == NAME and term.equal), None)

    def matches(self, entry: StoredObject) -> bool:
        """Whether the selectors match the object; the namespace is not checked."""
        return self.labels.matches(entry.labels) and all(_holds(term, entry) for term in self.fields)


def select(
    namespace: str,
    label_selector: str,
    field_selector: str,
    *,
    selectable: tuple[str, ...] = (),
    unknown_field: Callable[[str], str] = str,
) -> Selection:
    """The selection of a request; a malformed selector is a 400."""
    try:
        labels = parse_labels(label_selector) if label_selector else EVERYTHING
        fields = tuple(parse_fields(field_selector)) if field_selector else ()
    except SelectorError as error:
        raise bad_request(str(error)) from None
    for term in fields:
        if term.field not in (NAME, NAMESPACE) and term.field not in selectable:
            raise bad_request(unknown_field(term.field))
    return Selection(namespace, labels, fields)


def _holds(term: FieldTerm, entry: StoredObject) -> bool:
    if term.field == NAME:
        value = entry.key.name
    elif term.field == NAMESPACE:
        value = entry.key.namespace
    else:
        value = entry.fields.get(term.field, "")
    return (value == term.value) is term.equal
