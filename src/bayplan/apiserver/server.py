"""ApiServer: builds the stations and connects them; `handle` is the one way in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from bayplan.apiserver import paths
from bayplan.apiserver.admission import DefaultAdmission
from bayplan.apiserver.apply import Ownership
from bayplan.apiserver.attributes import Admission
from bayplan.apiserver.authorization import Authorization
from bayplan.apiserver.catalogue import built_in
from bayplan.apiserver.codec import Codec, Codecs
from bayplan.apiserver.custom import CustomResources
from bayplan.apiserver.custom.scale import CustomScale
from bayplan.apiserver.discovery import Discovery
from bayplan.apiserver.exchange import Request, Response
from bayplan.apiserver.journal import Commits, Journal
from bayplan.apiserver.meta import Marks, Randomness
from bayplan.apiserver.openapi import OpenApi
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest import Rest
from bayplan.apiserver.rest.call import Call
from bayplan.apiserver.rest.rest import failure
from bayplan.apiserver.rest.table_view import TableView
from bayplan.apiserver.rest.view_choice import Views
from bayplan.apiserver.rest.views import View
from bayplan.apiserver.status import StatusError
from bayplan.apiserver.store import HISTORY_LIMIT, HISTORY_SECONDS, Store
from bayplan.apiserver.strategies import built_in_strategies
from bayplan.apiserver.strategies.policies import SYSTEM_PRIORITY_CLASSES, SYSTEM_PRIORITY_DESCRIPTIONS
from bayplan.apiserver.strategy import Object, Strategy
from bayplan.apiserver.subresources import Deps, Subresources
from bayplan.apiserver.subresources.rbac import Authorizer
from bayplan.apiserver.tables import printer_of
from bayplan.framework import Clock

#: There from the start, as in every cluster.
NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


class ApiServer:
    """See the module's text."""

    def __init__(
        self,
        clock: Clock,
        data: Path | None = None,
        *,
        randomness: Randomness | None = None,
        admission: Admission | None = None,
        disabled_admission: tuple[str, ...] = (),
        namespaces: tuple[str, ...] = NAMESPACES,
        history_seconds: float = HISTORY_SECONDS,
        history_limit: int = HISTORY_LIMIT,
    ) -> None:
        """*data* is a folder that outlives the process; without one everything is in memory."""
        self.data = data
        self._clock = clock
        self.table = built_in()
        self.codecs = Codecs()
        self.store = Store(clock, history_seconds=history_seconds, history_limit=history_limit)
        marks = Marks(clock.now, randomness)
        self._built_in_strategy_of = built_in_strategies(marks.timestamp)
        self.custom = CustomResources(self.table, self.codecs.schemas, marks.timestamp)
        ownership = Ownership(self.codec_of, marks.timestamp)
        self.registry = Registry(
            self.store,
            marks,
            self.strategy_of,
            admission or DefaultAdmission(self.store, disabled=disabled_admission),
            ownership,
        )
        views = Views(self.registry, self.codec_of, self._table_view)
        deps = Deps(self.registry, self.codec_of, marks.timestamp)
        special = Subresources(deps, custom_scale=CustomScale(deps, self.custom.scale_of))
        self._rest = Rest(
            self.table,
            self.registry,
            self.codec_of,
            views,
            clock,
            special=special.find,
            authorize=Authorization(Authorizer(self.store)).check,
        )
        openapi = OpenApi(self.table, self.codecs.schemas, self.custom.schema_of)
        #: Asked before `rest`, in this order.
        self._others: tuple[Callable[[Request], Response | None], ...] = (
            lambda request: paths.respond(request, self.table),
            Discovery(self.table).respond,
            openapi.respond,
        )
        self._commits = self._open_journal(data) if data is not None else None
        self._make_namespaces(namespaces)
        self._make_priority_classes()
        self.custom.settle(self.registry)

    def handle(self, request: Request) -> Response:
        """The answer to any request. With `data` it is to be kept back until it is on disk (`when_durable`)."""
        broken = self._broken()
        if broken is not None:
            return broken
        for respond in self._others:
            found = respond(request)
            if found is not None:
                return found
        answer = self._rest.handle(request)
        if self.custom.concerns(request):
            self.custom.settle(self.registry)
        return answer

    def when_durable(self, answer: Response, then: Callable[[Response], None]) -> None:
        """Call *then* with the answer once what it tells of is on disk, with a 500 if that fails.

        At once where there is no disk.
        """
        if self._commits is None:
            then(answer)
        else:
            self._commits.when_durable(lambda: then(self._confirmed(answer)))

    async def durable(self, answer: Response) -> Response:
        """The answer when what it tells of is on disk, a 500 if that fails."""
        if self._commits is None:
            return answer
        await self._commits.durable()
        return self._confirmed(answer)

    def _confirmed(self, answer: Response) -> Response:
        broken = self._broken()
        if broken is None:
            return answer
        answer.close()
        return broken

    def _broken(self) -> Response | None:
        """The answer to everything once the journal cannot be written."""
        if self._commits is None or self._commits.failure is None:
            return None
        why = f"the journal cannot be written: {self._commits.failure}"
        return failure(StatusError(500, "InternalError", f"Internal error occurred: {why}"))

    def close(self) -> None:
        """Write what is left, and let go of the folder."""
        commits, self._commits = self._commits, None
        if commits is not None:
            commits.close()

    def _open_journal(self, data: Path) -> Commits:
        journal = Journal(data)
        journal.restore(self.store)
        self.store.keep_in(journal)
        return Commits(self.store, journal)

    def _table_view(self, call: Call) -> View:
        row = call.resource
        printer = self.custom.printer_of(row) if row.custom else printer_of(row.group, row.kind)
        return TableView(call.resource, self.registry, printer, self._clock, call.request.first("includeObject"))

    def codec_of(self, resource: Resource) -> Codec:
        return self.custom.codec_of(resource) if resource.custom else self.codecs.of(resource)

    def strategy_of(self, resource: Resource) -> Strategy:
        if self.custom.has_rules_for(resource):
            return self.custom.strategy_of(resource)
        return self._built_in_strategy_of(resource)

    def _make_priority_classes(self) -> None:
        """Those that every cluster has."""
        for name, value in SYSTEM_PRIORITY_CLASSES.items():
            description = SYSTEM_PRIORITY_DESCRIPTIONS[name]
            self._make("scheduling.k8s.io", "priorityclasses", name, value=value, description=description)

    def _make_namespaces(self, names: tuple[str, ...]) -> None:
        for name in names:
            self._make("", "namespaces", name)

    def _make(self, group: str, plural: str, name: str, **fields: object) -> None:
        """Create an object that is to be there from the start, unless the folder has it."""
        resource = self.table.find(group, "v1", plural)
        assert resource is not None  # noqa: S101  the catalogue has it
        if self.registry.find(resource, "", name) is None:
            types = {"kind": resource.kind, "apiVersion": resource.api_version}
            obj: Object = {**types, "metadata": {"name": name}, **fields}
            self.registry.strategy_of(resource).default(obj)
            self.registry.create(resource, "", obj)
