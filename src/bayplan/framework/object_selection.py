"""ObjectSelection: which objects of the cluster somebody wants to see. A resource, and selectors if not all of it.

A resource is a kind of `bayplan.model`, whose objects are typed, or a name such as `foos.v1.example.com`, whose
objects are dictionaries. What cannot be watched is refused here, when a plugin asks for it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from bayplan.framework.contract import PluginError
from bayplan.framework.selector_text import FieldTerm, parse_fields, parse_labels
from bayplan.model import KINDS, KubeObject
from bayplan.model.label_selectors import Selector, SelectorError

_NAME: Final = re.compile(r"(?P<plural>[a-z0-9-]+)\.(?P<version>v[0-9]+[a-z0-9]*)(\.(?P<group>[a-z0-9.-]+))?")
_HOW: Final = (
    "give a kind of bayplan.model, such as ConfigMap, or the name of a resource as plural.version.group, such as "
    '"foos.v1.example.com"'
)


class ObjectSelection(NamedTuple):
    """A resource and selectors, in the spelling of lists and watches; see the module's docstring."""

    api_version: str
    plural: str
    #: None if objects of the resource are dictionaries.
    kind: type[KubeObject] | None = None
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is all objects of the resource."""
        return not (self.namespace or self.labels or self.fields)

    @property
    def resource(self) -> str:
        """As events are named: `foos.v1.example.com`."""
        group, _, version = self.api_version.rpartition("/")
        return ".".join(part for part in (self.plural, version, group) if part)

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def path(self) -> str:
        """Of the collection in the API."""
        root = "apis" if "/" in self.api_version else "api"
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"/{root}/{self.api_version}{inside}/{self.plural}"

    @property
    def object_name(self) -> str:
        """The only name that the field selector allows, if any."""
        terms = _fields(self.fields)
        return next((term.value for term in terms if term.field == "metadata.name" and term.equal), "")

    def matches(self, value: KubeObject | Mapping[str, Any]) -> bool:
        """Whether an object of the resource is selected, for who has no API server to ask."""
        mapping = value.whole if isinstance(value, KubeObject) else value
        metadata = mapping.get("metadata") or {}
        if self.namespace and metadata.get("namespace") != self.namespace:
            return False
        return _labels(self.labels).matches(metadata.get("labels") or {}) and all(
            (_field(mapping, term.field) == term.value) is term.equal for term in _fields(self.fields)
        )

    def __str__(self) -> str:
        selectors = {"namespace": self.namespace, "labels": self.labels, "fields": self.fields}
        return " ".join([self.resource, *(f"{name}={text}" for name, text in selectors.items() if text)])


def select_objects(kind: object, *, namespace: str = "", labels: str = "", fields: str = "") -> ObjectSelection:
    """The selection that a plugin asks for; PluginError if there is no such kind, or a selector is malformed."""
    resource = _typed(kind) if isinstance(kind, type) else _named(kind)
    if namespace and resource.kind is not None and not resource.kind.NAMESPACED:
        raise PluginError(f"{resource.kind.KIND} objects are in no namespace; leave out namespace={namespace!r}")
    try:
        _labels(labels)
        _fields(fields)
    except (SelectorError, TypeError, AttributeError) as error:
        raise PluginError(
            f"the selector of {resource.resource} cannot be read: {error}; write labels and fields as kubectl "
            'takes them, for example labels="app=web", fields="metadata.name=limits"'
        ) from None
    return resource._replace(namespace=namespace, labels=labels, fields=fields)


def _typed(kind: type[Any]) -> ObjectSelection:
    if not (issubclass(kind, KubeObject) and kind.API_VERSION and kind.PLURAL):
        raise PluginError(f"{kind.__name__} is no kind of object: {_HOW}{_meant(kind.__name__)}")
    return ObjectSelection(kind.API_VERSION, kind.PLURAL, kind)


def _named(kind: object) -> ObjectSelection:
    found = named_resource(kind) if isinstance(kind, str) else None
    if found is None:
        raise PluginError(f"{kind!r} is no kind of object: {_HOW}{_meant(str(kind))}")
    return found


def named_resource(name: str) -> ObjectSelection | None:
    """All objects of the resource that is called `plural.version.group`; None if *name* is no such name."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    version, group = found["version"], found["group"]
    return ObjectSelection(f"{group}/{version}" if group else version, found["plural"])


def is_plural_of(plural: str, kind: str) -> bool:
    """Whether the resource *plural* may be that of *kind*, as far as it can be told from the words."""
    word = kind.lower()
    return plural in (f"{word}s", f"{word}es", f"{word[:-1]}ies", word)


def _meant(name: str) -> str:
    """A suggestion, if a kind of the model has nearly this name."""
    names = {text.lower(): kind for kind in KINDS.values() for text in (kind.name, kind.plural)}
    close = difflib.get_close_matches(name.partition(".")[0].lower(), names, n=1)
    return f"; did you mean bayplan.model.{names[close[0]].name}?" if close else ""


@cache
def _labels(text: str) -> Selector:
    return parse_labels(text)


@cache
def _fields(text: str) -> tuple[FieldTerm, ...]:
    return tuple(parse_fields(text))


def _field(mapping: Mapping[str, Any], path: str) -> str:
    """The value at *path* as a field selector sees it: a missing one is empty."""
    value: Any = mapping
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
