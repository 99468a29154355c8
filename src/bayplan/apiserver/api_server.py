"""ApiServer: builds the parts of the server and connects them; every request enters through `handle`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bayplan.apiserver.admission import DefaultAdmission
from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.apply import OwnershipTracker
from bayplan.apiserver.authorization.account_tokens import AccountTokens
from bayplan.apiserver.authorization.device_access import DeviceAccess
from bayplan.apiserver.authorization.rbac import RbacAuthorizer
from bayplan.apiserver.authorization.request_authorization import RequestAuthorization
from bayplan.apiserver.codec import Codec, Codecs
from bayplan.apiserver.custom import CustomResources
from bayplan.apiserver.custom.custom_scale import CustomScaleHandler
from bayplan.apiserver.openapi import OpenApi
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.attributes import Admission
from bayplan.apiserver.registry.builtin_resources import built_in
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.registry.system_metadata import MetadataStamper, Randomness
from bayplan.apiserver.rest import RestHandler, root_paths
from bayplan.apiserver.rest.discovery import Discovery
from bayplan.apiserver.rest.handler import failure
from bayplan.apiserver.rest.object_views import ObjectView
from bayplan.apiserver.rest.request_info import RequestInfo
from bayplan.apiserver.rest.table_view import TableView
from bayplan.apiserver.rest.view_selector import ViewSelector
from bayplan.apiserver.schema.schemas import published
from bayplan.apiserver.storage.sqlite_journal import GroupCommit, SqliteJournal
from bayplan.apiserver.storage.versioned_store import HISTORY_LIMIT, HISTORY_SECONDS, Key, VersionedStore
from bayplan.apiserver.strategies import built_in_strategies
from bayplan.apiserver.strategies.policies import SYSTEM_PRIORITY_CLASSES, SYSTEM_PRIORITY_DESCRIPTIONS
from bayplan.apiserver.subresources import HandlerDependencies, Subresources
from bayplan.apiserver.tables import printer_of
from bayplan.apiserver.transport.api_messages import ApiRequest, ApiResponse
from bayplan.framework import Clock
from bayplan.release import DEFAULT, Release

#: Namespaces that exist from the start, as in every cluster.
NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class ApiServer:
    """See the module docstring."""

    def __init__(
        self,
        clock: Clock,
        data: Path | None = None,
        *,
        randomness: Randomness | None = None,
        admission: Admission | None = None,
        disabled_admission: tuple[str, ...] = (),
        release: Release = DEFAULT,
        namespaces: tuple[str, ...] = NAMESPACES,
        history_seconds: float = HISTORY_SECONDS,
        history_limit: int = HISTORY_LIMIT,
    ) -> None:
        """*data* is a folder that survives the process; without one everything is in memory.

        *release* is the release of Kubernetes whose API is served.
        """
        self.data = data
        self._clock = clock
        self.table = built_in(release)
        self.codecs = Codecs(published(release))
        self.store = VersionedStore(clock, history_seconds=history_seconds, history_limit=history_limit)
        stamper = MetadataStamper(clock.now, randomness)
        authorizer = RbacAuthorizer(self.store)
        device_access = DeviceAccess(self.store, authorizer)
        self._built_in_strategy_of = built_in_strategies(stamper.timestamp, device_access, release)
        self.custom = CustomResources(self.table, self.codecs.schemas, stamper.timestamp)
        ownership = OwnershipTracker(self.codec_of, stamper.timestamp)
        self.registry = ResourceRegistry(
            self.store,
            stamper,
            self.strategy_of,
            admission or DefaultAdmission(self.store, disabled=disabled_admission),
            ownership,
        )
        views = ViewSelector(self.registry, self.codec_of, self._table_view)
        dependencies = HandlerDependencies(self.registry, self.codec_of, stamper.timestamp)
        self.tokens = AccountTokens(clock.now, self._account_uid)
        special = Subresources(
            dependencies, self.tokens, custom_scale=CustomScaleHandler(dependencies, self.custom.scale_of)
        )
        self._rest = RestHandler(
            self.table,
            self.registry,
            self.codec_of,
            views,
            clock,
            special=special.find,
            authorize=RequestAuthorization(authorizer).check,
        )
        openapi = OpenApi(self.table, self.codecs.schemas, self.custom.schema_of, release)
        #: Called before `rest`, in this order.
        self._path_handlers: tuple[Callable[[ApiRequest], ApiResponse | None], ...] = (
            lambda request: root_paths.respond(request, self.table),
            Discovery(self.table, release).respond,
            openapi.respond,
        )
        self._commits = self._open_journal(data) if data is not None else None
        self._make_namespaces(namespaces)
        self._make_priority_classes()
        self.custom.settle(self.registry)

    def handle(self, request: ApiRequest) -> ApiResponse:
        """The response to any request. With `data`, hold it back until it is durable (`when_durable`)."""
        broken = self._broken()
        if broken is not None:
            return broken
        for respond in self._path_handlers:
            found = respond(request)
            if found is not None:
                return found
        response = self._rest.handle(request)
        if self.custom.concerns(request):
            self.custom.settle(self.registry)
        return response

    def when_durable(self, response: ApiResponse, then: Callable[[ApiResponse], None]) -> None:
        """Call *then* with the response once the changes it reports are on disk, with a 500 if that fails.

        Called immediately if there is no disk.
        """
        if self._commits is None:
            then(response)
        else:
            self._commits.when_durable(lambda: then(self._confirmed(response)))

    async def durable(self, response: ApiResponse) -> ApiResponse:
        """The response once the changes it reports are on disk; a 500 if that fails."""
        if self._commits is None:
            return response
        await self._commits.durable()
        return self._confirmed(response)

    def _confirmed(self, response: ApiResponse) -> ApiResponse:
        broken = self._broken()
        if broken is None:
            return response
        response.close()
        return broken

    def _broken(self) -> ApiResponse | None:
        """The response to every request once the journal cannot be written any more."""
        if self._commits is None or self._commits.failure is None:
            return None
        why = f"the journal cannot be written: {self._commits.failure}"
        return failure(StatusError(500, "InternalError", f"Internal error occurred: {why}"))

    def close(self) -> None:
        """Write pending changes and release the folder."""
        commits, self._commits = self._commits, None
        if commits is not None:
            commits.close()

    def _open_journal(self, data: Path) -> GroupCommit:
        journal = SqliteJournal(data)
        journal.restore(self.store)
        self.store.use_journal(journal)
        return GroupCommit(self.store, journal)

    def _table_view(self, info: RequestInfo) -> ObjectView:
        row = info.resource
        printer = self.custom.printer_of(row) if row.custom else printer_of(row.group, row.kind)
        return TableView(info.resource, self.registry, printer, self._clock, info.request.first("includeObject"))

    def codec_of(self, resource: ApiResource) -> Codec:
        return self.custom.codec_of(resource) if resource.custom else self.codecs.of(resource)

    def strategy_of(self, resource: ApiResource) -> RestStrategy:
        if self.custom.has_rules_for(resource):
            return self.custom.strategy_of(resource)
        return self._built_in_strategy_of(resource)

    def _account_uid(self, namespace: str, name: str) -> str | None:
        entry = self.store.get(Key("serviceaccounts", namespace, name))
        return entry.uid if entry is not None else None

    def _make_priority_classes(self) -> None:
        """The priority classes that every cluster has."""
        for name, value in SYSTEM_PRIORITY_CLASSES.items():
            description = SYSTEM_PRIORITY_DESCRIPTIONS[name]
            self._make("scheduling.k8s.io", "priorityclasses", name, value=value, description=description)

    def _make_namespaces(self, names: tuple[str, ...]) -> None:
        for name in names:
            self._make("", "namespaces", name)

    def _make(self, group: str, plural: str, name: str, **fields: object) -> None:
        """Create an object that exists from the start, unless the folder already has it."""
        resource = self.table.find(group, "v1", plural)
        assert resource is not None  # noqa: S101  it is built in
        if self.registry.find(resource, "", name) is None:
            types = {"kind": resource.kind, "apiVersion": resource.api_version}
            obj: Object = {**types, "metadata": {"name": name}, **fields}
            self.registry.strategy_of(resource).default(obj)
            self.registry.create(resource, "", obj)
