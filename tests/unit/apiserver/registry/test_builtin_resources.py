"""The table of built-in kinds is consistent with itself and with the published schemas."""

from __future__ import annotations

import pytest

from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.builtin_resources import RESOURCES, built_in
from bayplan.apiserver.schema.schemas import published
from bayplan.release import NEWEST, SUPPORTED


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: f"{resource.api_version} {resource.kind}")
def test_every_kind_has_a_published_schema(resource: ApiResource) -> None:
    """Codecs, patches and OpenAPI are built from the schemas: a kind without one could not be served."""
    schemas = published(NEWEST)
    definition = schemas.definition_of(resource.group, resource.version, resource.kind)
    assert definition is not None
    listable = "list" in resource.verbs
    assert (f"{definition}List" in schemas.definitions) == listable


def test_places_and_names_are_unique() -> None:
    """No two kinds share a URL, and no two of a group share a name, short or long."""
    assert len(list(built_in(NEWEST))) == len(RESOURCES)
    for group in {resource.group for resource in RESOURCES}:
        rows = [resource for resource in RESOURCES if resource.group == group]
        names = [name for row in rows for name in {row.plural, row.singular, *row.short_names}]
        assert len(names) == len(set(names))


def test_a_release_serves_what_it_has_published() -> None:
    """DeviceTaintRules are new in version v1 of 1.37."""
    served = {minor: {each.kind for each in built_in(release)} for minor, release in SUPPORTED.items()}
    assert served["1.37"] - served["1.36"] == {"DeviceTaintRule"}
    assert served["1.36"] < served["1.37"]


def test_events_of_both_groups_share_storage() -> None:
    """core and events.k8s.io events are two forms of the same objects; no other kinds share storage."""
    stored = [resource.stored_as for resource in RESOURCES]
    shared = {name for name in stored if stored.count(name) > 1}
    assert shared == {"events"}
