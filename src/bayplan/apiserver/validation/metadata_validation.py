"""Validation of metadata, the same for every kind apart from the form of the name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.validation.field_errors import (
    each,
    forbidden,
    immutable,
    invalid,
    non_negative,
    required,
    too_long,
)
from bayplan.apiserver.validation.name_validation import (
    label_errors,
    label_value_errors,
    path_segment_errors,
    qualified_name_errors,
)

#: Finalizers without a domain.
STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
MAX_ANNOTATION_BYTES = 256 * 1024
#: Fields that an update must not change.
_FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


class _AnyName(RestStrategy):
    checks_metadata = False

    def name_errors(self, name: str, *, prefix: bool) -> list[str]:
        return path_segment_errors(name, prefix=prefix)


_ANY_NAME = _AnyName()


def creation_causes(obj: Object, resource: ApiResource, strategy: RestStrategy) -> list[StatusCause]:
    """All errors of a new object."""
    if strategy.checks_metadata:
        return validate_metadata(obj, resource, strategy) + strategy.validate(obj)
    return strategy.validate(obj) or validate_metadata(obj, resource, _ANY_NAME)


def validate_metadata(obj: Object, resource: ApiResource, strategy: RestStrategy) -> list[StatusCause]:
    """Errors of the metadata of a new object."""
    metadata = obj["metadata"]
    found = list(_name_causes(metadata, strategy))
    found += _namespace_causes(metadata, resource.namespaced)
    found += non_negative("metadata.generation", metadata.get("generation"))
    found += common_causes(metadata, "metadata")
    found += _finalizer_causes(metadata.get("finalizers", ()))
    if strategy.checks_metadata and not resource.custom:
        found += _standard_finalizer_causes(metadata.get("finalizers", ()))
    return found


def validate_metadata_update(new: Object, old: Object, resource: ApiResource) -> list[StatusCause]:
    """Errors of a metadata change; the resourceVersion has been checked already."""
    after, before = new["metadata"], old["metadata"]
    found: list[StatusCause] = []
    if "deletionTimestamp" in before:
        found += _new_finalizer_causes(after.get("finalizers", ()), before.get("finalizers", ()))
    if after.get("generation", 0) < before.get("generation", 0):
        found.append(invalid("metadata.generation", after.get("generation", 0), "must not be decremented"))
    for key in _FIXED:
        found += immutable(f"metadata.{key}", after.get(key), before.get(key))
    found += common_causes(after, "metadata")
    found += _finalizer_causes(after.get("finalizers", ()))
    if not resource.custom:
        found += _standard_finalizer_causes(after.get("finalizers", ()))
    return found


def validate_name(strategy: RestStrategy, name: str) -> list[str]:
    """Errors of the name of an object of the kind."""
    return strategy.name_errors(name, prefix=False)


def common_causes(metadata: Mapping[str, Any], path: str) -> list[StatusCause]:
    """Errors of labels, annotations and owner references, also those of pod templates."""
    return [
        *label_causes(metadata.get("labels", {}), f"{path}.labels"),
        *annotation_causes(metadata.get("annotations", {}), f"{path}.annotations"),
        *_owner_causes(metadata.get("ownerReferences", ()), f"{path}.ownerReferences"),
    ]


def label_causes(labels: Mapping[str, str], path: str) -> Iterator[StatusCause]:
    for key, value in labels.items():
        yield from each(path, key, qualified_name_errors(key))
        yield from each(path, value, label_value_errors(value))


def annotation_causes(annotations: Mapping[str, str], path: str) -> Iterator[StatusCause]:
    for key in annotations:
        yield from each(path, key, qualified_name_errors(key.lower()))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATION_BYTES:
        yield too_long(path, MAX_ANNOTATION_BYTES)


def _name_causes(metadata: Object, strategy: RestStrategy) -> Iterator[StatusCause]:
    generate_name, name = metadata.get("generateName", ""), metadata.get("name", "")
    if generate_name:
        yield from each("metadata.generateName", generate_name, strategy.name_errors(generate_name, prefix=True))
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    yield from each("metadata.name", name, strategy.name_errors(name, prefix=False))
    yield from each("metadata.name", name, path_segment_errors(name))


def _namespace_causes(metadata: Object, namespaced: bool) -> Iterator[StatusCause]:
    namespace = metadata.get("namespace", "")
    if not namespaced:
        if namespace:
            yield forbidden("metadata.namespace", "not allowed on this type")
    elif not namespace:
        yield required("metadata.namespace")
    else:
        yield from each("metadata.namespace", namespace, label_errors(namespace))


def _owner_causes(owners: Iterable[Mapping[str, Any]], path: str) -> Iterator[StatusCause]:
    controllers: list[str] = []
    for owner in owners:
        yield from _one_owner_causes(owner, path)
        if owner.get("controller"):
            controllers.append(f"{owner.get('kind', '')}/{owner.get('name', '')}")
            if len(controllers) > 1:
                text = (
                    "Only one reference can have Controller set to true. "
                    f'Found "true" in references for {controllers[0]} and {controllers[-1]}'
                )
                yield invalid(path, list(owners), text)


def _one_owner_causes(owner: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if not owner.get("apiVersion", "").rpartition("/")[2]:
        yield invalid(f"{path}.apiVersion", owner.get("apiVersion", ""), "version must not be empty")
    for key in ("kind", "name", "uid"):
        if not owner.get(key):
            yield invalid(f"{path}.{key}", "", "must not be empty")
    if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
        yield invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")


def _finalizer_causes(finalizers: Iterable[str]) -> Iterator[StatusCause]:
    for finalizer in finalizers:
        yield from each("metadata.finalizers", finalizer, qualified_name_errors(finalizer))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        text = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid("metadata.finalizers", list(finalizers), text)


def _standard_finalizer_causes(finalizers: Iterable[str]) -> Iterator[StatusCause]:
    for i, finalizer in enumerate(finalizers):
        if "/" not in finalizer and finalizer not in STANDARD_FINALIZERS:
            text = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(f"metadata.finalizers[{i}]", finalizer, text)


def _new_finalizer_causes(new: Iterable[str], old: Iterable[str]) -> Iterator[StatusCause]:
    extra = sorted(set(new) - set(old))
    if extra:
        quoted = ", ".join(f'"{finalizer}"' for finalizer in extra)
        text = (
            "no new finalizers can be added if the object is being deleted, "
            f"found new finalizers []string{{{quoted}}}"
        )
        yield forbidden("metadata.finalizers", text)
