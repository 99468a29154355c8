"""The verbs: what can be done with a resource, each from a `Call` to a `Response`."""

from __future__ import annotations

import random
from typing import Any, Final

import msgspec

from bayplan.apiserver.codec import Codec
from bayplan.apiserver.deletion import Deleted, DeleteOptions
from bayplan.apiserver.exchange import Response
from bayplan.apiserver.listing import (
    ListOptions,
    Page,
    check_not_future,
    list_page,
    read_options,
    too_large_version,
    version_number,
)
from bayplan.apiserver.meta import place_in_namespace
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.rest.body import read_object
from bayplan.apiserver.rest.call import Call, check_name
from bayplan.apiserver.rest.delete_options import read_delete_options
from bayplan.apiserver.rest.options import (
    CREATE_OPTIONS,
    UPDATE_OPTIONS,
    read_write_options,
)
from bayplan.apiserver.rest.view_choice import Views
from bayplan.apiserver.selection import NAME, NAMESPACE, FieldTerm, Selection, select
from bayplan.apiserver.status import StatusError, bad_request
from bayplan.apiserver.store import Entry
from bayplan.apiserver.strategy import Object
from bayplan.apiserver.watches import Refused, Watch
from bayplan.framework import Clock

#: A watch without a time limit lasts between this and twice this.
MIN_WATCH_SECONDS: Final = 1800.0
_encode = msgspec.json.Encoder().encode


class Verbs:
    """See the module's text."""

    def __init__(self, registry: Registry, views: Views, clock: Clock) -> None:
        self.registry = registry
        self.views = views
        self._store = registry.store
        self._clock = clock

    # --- reading ----------------------------------------------------------------------------------

    def get(self, call: Call) -> Response:
        view = self.views.of(call)
        version = call.request.first("resourceVersion")
        if version:
            try:
                check_not_future(version_number(version), self._store)
            except ValueError as error:
                raise StatusError(500, "", str(error)) from None
        entry = self.registry.entry(call.resource, call.namespace, call.name)
        return self.views.response(call, 200, view.one(self.registry.with_owners(entry)))

    def list(self, call: Call) -> Response:
        view = self.views.of(call, many=True)
        options = read_options(call.request)
        page = list_page(self._store, call.resource.stored_as, self._selection(call, options), options)
        return self.views.response(call, 200, view.many(page))

    def watch(self, call: Call) -> Response:
        view = self.views.of(call, watch=True)
        options = read_options(call.request, watch=call.watch)
        selection = self._selection(call, options)
        since = self._watch_start(options)
        if since is not None and options.send_initial_events is not None and since > self._store.version:
            return Response(200, stream=Refused(too_large_version(since, self._store)))
        timeout = options.timeout_seconds or MIN_WATCH_SECONDS * (1 + random.random())  # noqa: S311  spreads load
        with_initial_events = options.send_initial_events is True
        stream = Watch(
            self._store,
            call.resource.stored_as,
            selection,
            view,
            self._clock,
            since=None if with_initial_events else since,
            initial_events_end=with_initial_events and options.allow_bookmarks,
            bookmarks=options.allow_bookmarks,
            timeout_seconds=timeout,
        )
        return Response(200, stream=stream)

    def _watch_start(self, options: ListOptions) -> int | None:
        """The version to go on from; None to begin with what is there."""
        if not options.version:
            return self._store.version if options.send_initial_events is False else None
        try:
            version = version_number(options.version)
        except ValueError as error:
            raise StatusError(500, "", str(error)) from None
        if version == 0:
            return self._store.version if options.send_initial_events is False else None
        return version

    def _selection(self, call: Call, options: ListOptions) -> Selection:
        strategy = self.registry.strategy_of(call.resource)
        selection = select(
            call.namespace,
            options.label_selector,
            options.field_selector,
            selectable=strategy.selectable_fields,
            unknown_field=strategy.unknown_field,
        )
        if not strategy.selects_namespace and any(term.field == NAMESPACE for term in selection.fields):
            raise bad_request(strategy.unknown_field(NAMESPACE))
        if not call.name:
            return selection
        if selection.fields and selection.name != call.name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        return selection._replace(fields=(FieldTerm(NAME, equal=True, value=call.name),))

    # --- writing ----------------------------------------------------------------------------------

    def create(self, call: Call, codec: Codec) -> Response:
        view = self.views.of(call)
        request, warnings = call.request, call.warnings
        options = read_write_options(request, CREATE_OPTIONS)
        obj = read_object(request, codec, options.field_validation, warnings)
        self.registry.strategy_of(call.resource).default(obj)
        entry = self.registry.create(call.resource, call.namespace, obj, options.asking(request, warnings))
        return self.views.response(call, 201, view.one(entry), warnings)

    def update(self, call: Call, codec: Codec) -> Response:
        view = self.views.of(call)
        request, warnings = call.request, call.warnings
        options = read_write_options(request, UPDATE_OPTIONS)
        obj = read_object(request, codec, options.field_validation, warnings)
        place_in_namespace(obj, call.namespace)
        check_name(call, obj)
        strategy = self.registry.strategy_of(call.resource)
        strategy.default(obj)
        entry, created = self.registry.update(
            call.resource,
            call.namespace,
            call.name,
            lambda entry: self.registry.same_object(call.resource, obj, entry),
            options.asking(request, warnings),
            subresource=call.subresource,
            make=(lambda: obj) if strategy.allows_create_on_update and not call.subresource else None,
        )
        return self.views.response(call, 201 if created else 200, view.one(entry), warnings)

    # --- deleting ---------------------------------------------------------------------------------

    def delete(self, call: Call) -> Response:
        view = self.views.of(call)
        options = read_delete_options(call.request)
        warnings = call.warnings
        self._warn_of_orphans(call, options)
        asking = read_write_options(call.request, "DeleteOptions").asking(call.request, warnings)
        asking = asking._replace(dry_run=options.dry_run)
        deleted = self.registry.delete(call.resource, call.namespace, call.name, options, asking)
        status = 202 if not deleted.at_once and options.orphan is False else 200
        strategy = self.registry.strategy_of(call.resource)
        if not deleted.at_once or strategy.returns_deleted:
            return self.views.response(call, status, view.one(deleted.entry), warnings)
        return self.views.response(call, status, _encode(_success(call.resource, deleted)), warnings)

    def delete_collection(self, call: Call) -> Response:
        view = self.views.of(call, many=True)
        options = read_options(call.request)
        page = list_page(self._store, call.resource.stored_as, self._selection(call, options), options)
        deletion = read_delete_options(call.request)
        warnings = call.warnings
        self._warn_of_orphans(call, deletion)
        asking = read_write_options(call.request, "DeleteOptions").asking(call.request, warnings)
        asking = asking._replace(dry_run=deletion.dry_run)
        for entry in page.entries:
            self._delete_one(call.resource, entry, deletion, asking)
        shown = Page(page.entries, page.version, page.continue_, page.remaining)
        return self.views.response(call, 200, view.many(shown), warnings)

    def _warn_of_orphans(self, call: Call, options: DeleteOptions) -> None:
        strategy = self.registry.strategy_of(call.resource)
        if strategy.orphan_warning and options.orphan is None and options.propagation is None:
            call.warnings.append(strategy.orphan_warning)

    def _delete_one(self, resource: Resource, entry: Entry, deletion: Any, asking: Any) -> None:
        try:
            self.registry.delete(resource, entry.key.namespace, entry.key.name, deletion, asking)
        except StatusError as error:
            if error.code != 404:
                raise


def _success(resource: Resource, deleted: Deleted) -> Object:
    details = {"name": deleted.entry.key.name, "group": resource.group, "kind": resource.plural}
    details["uid"] = deleted.entry.uid
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {field: value for field, value in details.items() if value},
    }
