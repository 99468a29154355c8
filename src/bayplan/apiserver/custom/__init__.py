"""CustomResourceDefinitions and the resources they define.

A definition takes effect with the request that writes it: what kube-apiserver's controllers do a moment later
(accept names, establish, delete the objects of a deleted definition) is done by `settle` before the next request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bayplan.apiserver.codec import Codec
from bayplan.apiserver.custom.custom_kinds import CustomKind, kinds_of
from bayplan.apiserver.custom.definitions import CLEANUP, DefinitionStrategy, accept_names
from bayplan.apiserver.registry.api_resources import ApiResource, ResourceTable
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.schema.schemas import Json, Schemas
from bayplan.apiserver.storage.versioned_store import StoredObject
from bayplan.apiserver.tables import TablePrinter
from bayplan.apiserver.transport.api_messages import ApiRequest

_PREFIX: Final = "/apis/apiextensions.k8s.io/"
_PLACE: Final = ("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_READS: Final = ("GET", "HEAD")


class CustomResources:
    """Codecs, strategies and tables of custom resources, in step with the definitions in the store."""

    def __init__(self, table: ResourceTable, schemas: Schemas, now: Callable[[], str]) -> None:
        self._table = table
        self._schemas = schemas
        self._now = now
        self._definitions = DefinitionStrategy(now)
        self._kinds: dict[tuple[str, str, str], CustomKind] = {}
        #: The version of each definition that is in effect.
        self._in_effect: dict[str, int] = {}
        self._some_terminate = False

    # --- lookups ----------------------------------------------------------------------------------

    def codec_of(self, resource: ApiResource) -> Codec:
        return self._kind(resource).codec

    def has_rules_for(self, resource: ApiResource) -> bool:
        """Whether this is a custom resource, or CustomResourceDefinition itself."""
        return resource.custom or resource.group == _PLACE[0]

    def strategy_of(self, resource: ApiResource) -> RestStrategy:
        return self._kind(resource).strategy if resource.custom else self._definitions

    def printer_of(self, resource: ApiResource) -> TablePrinter:
        return self._kind(resource).printer

    def schema_of(self, resource: ApiResource) -> Json:
        return self._kind(resource).schema

    def scale_of(self, resource: ApiResource) -> Json:
        """The JSON paths of the scale subresource."""
        return self._kind(resource).scale

    def _kind(self, resource: ApiResource) -> CustomKind:
        return self._kinds[(resource.group, resource.version, resource.plural)]

    # --- in step with the store -------------------------------------------------------------------

    def concerns(self, request: ApiRequest) -> bool:
        """Whether a request may have left something to settle."""
        if request.method in _READS:
            return False
        return self._some_terminate or request.path.startswith(_PREFIX)

    def settle(self, registry: ResourceRegistry) -> None:
        """Process definitions that are new, changed or deleted."""
        resource = self._table.find(*_PLACE)
        assert resource is not None  # noqa: S101  it is built in
        self._some_terminate = False
        entries = registry.store.list(resource.stored_as)
        definitions = [registry.decoded(resource, entry) for entry in entries]
        for entry, definition in zip(entries, definitions, strict=True):
            if "deletionTimestamp" in definition["metadata"]:
                self._terminate(registry, resource, entry, definition)
            elif self._in_effect.get(entry.key.name) != entry.version:
                others = [other for other in definitions if other is not definition]
                self._establish(registry, resource, definition, others)

    def _establish(
        self, registry: ResourceRegistry, resource: ApiResource, definition: Object, others: list[Object]
    ) -> None:
        group = definition["spec"]["group"]
        siblings = [other for other in others if other["spec"]["group"] == group]
        established = accept_names(definition, siblings, self._now())
        entry = registry.write(resource, definition)
        self._in_effect[entry.key.name] = entry.version
        self._withdraw(definition)
        if established:
            self._serve(definition)

    def _serve(self, definition: Object) -> None:
        """Add the definition's resources to the table."""
        for kind in kinds_of(definition, self._schemas):
            row = kind.resource
            self._kinds[(row.group, row.version, row.plural)] = kind
            self._table.add(row)

    def _withdraw(self, definition: Object) -> None:
        """Remove the definition's resources from the table."""
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        for key in [key for key in self._kinds if (key[0], key[2]) == (group, plural)]:
            del self._kinds[key]
            self._table.remove(*key)

    def _terminate(
        self, registry: ResourceRegistry, resource: ApiResource, entry: StoredObject, definition: Object
    ) -> None:
        if entry.key.name not in self._in_effect:
            # After a restart during the deletion.
            self._serve(definition)
        if self._clean_up(registry, definition):
            self._some_terminate = True
            return
        self._withdraw(definition)
        self._in_effect.pop(entry.key.name, None)
        finalizers = definition["metadata"].get("finalizers") or []
        definition["metadata"]["finalizers"] = [each for each in finalizers if each != CLEANUP]
        if definition["metadata"]["finalizers"]:
            registry.write(resource, definition)
        else:
            registry.remove(resource, entry)

    def _clean_up(self, registry: ResourceRegistry, definition: Object) -> bool:
        """Delete the objects of a definition; returns whether finalizers hold some of them."""
        group, plural = definition["spec"]["group"], definition["spec"]["names"]["plural"]
        kind = next((kind for key, kind in self._kinds.items() if (key[0], key[2]) == (group, plural)), None)
        if kind is None:
            return False
        for entry in registry.store.list(kind.resource.stored_as):
            registry.delete(kind.resource, entry.key.namespace, entry.key.name)
        return bool(registry.store.list(kind.resource.stored_as))
