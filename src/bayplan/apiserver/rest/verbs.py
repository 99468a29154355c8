"""The verbs of a resource, each from a `RequestInfo` to an `ApiResponse`."""

from __future__ import annotations

import random
from typing import Any, Final

import msgspec

from bayplan.apiserver.api_errors import StatusError, bad_request
from bayplan.apiserver.codec import Codec
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.deletion import DeleteOptions, DeletionResult
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.registry.system_metadata import place_in_namespace
from bayplan.apiserver.rest.delete_options import read_delete_options
from bayplan.apiserver.rest.options import (
    CREATE_OPTIONS,
    UPDATE_OPTIONS,
    read_write_options,
)
from bayplan.apiserver.rest.request_body import read_object
from bayplan.apiserver.rest.request_info import RequestInfo, check_name
from bayplan.apiserver.rest.view_selector import ViewSelector
from bayplan.apiserver.storage.pagination import (
    ListOptions,
    Page,
    check_not_future,
    list_page,
    read_options,
    too_large_version,
    version_number,
)
from bayplan.apiserver.storage.selection import Selection, select
from bayplan.apiserver.storage.versioned_store import StoredObject
from bayplan.apiserver.storage.watches import RefusedWatch, Watch
from bayplan.apiserver.transport.api_messages import ApiResponse
from bayplan.framework import Clock
from bayplan.framework.selector_text import NAME, NAMESPACE, FieldTerm

#: A watch without a time limit lasts between this and twice this.
MIN_WATCH_SECONDS: Final = 1800.0
_encode = msgspec.json.Encoder().encode


class Verbs:
    """See the module docstring."""

    def __init__(self, registry: ResourceRegistry, views: ViewSelector, clock: Clock) -> None:
        self.registry = registry
        self.views = views
        self._store = registry.store
        self._clock = clock

    # --- reading ----------------------------------------------------------------------------------

    def get(self, info: RequestInfo) -> ApiResponse:
        view = self.views.of(info)
        version = info.request.first("resourceVersion")
        if version:
            try:
                check_not_future(version_number(version), self._store)
            except ValueError as error:
                raise StatusError(500, "", str(error)) from None
        entry = self.registry.entry(info.resource, info.namespace, info.name)
        return self.views.response(info, 200, view.one(self.registry.with_owners(entry)))

    def list(self, info: RequestInfo) -> ApiResponse:
        view = self.views.of(info, many=True)
        options = read_options(info.request)
        page = list_page(self._store, info.resource.stored_as, self._selection(info, options), options)
        return self.views.response(info, 200, view.many(page))

    def watch(self, info: RequestInfo) -> ApiResponse:
        view = self.views.of(info, watch=True)
        options = read_options(info.request, watch=info.watch)
        selection = self._selection(info, options)
        since = self._watch_start(options)
        if since is not None and options.send_initial_events is not None and since > self._store.version:
            return ApiResponse(200, stream=RefusedWatch(too_large_version(since, self._store)))
        timeout = options.timeout_seconds or MIN_WATCH_SECONDS * (1 + random.random())  # noqa: S311  spreads load
        with_initial_events = options.send_initial_events is True
        stream = Watch(
            self._store,
            info.resource.stored_as,
            selection,
            view,
            self._clock,
            since=None if with_initial_events else since,
            initial_events_end=with_initial_events and options.allow_bookmarks,
            bookmarks=options.allow_bookmarks,
            timeout_seconds=timeout,
        )
        return ApiResponse(200, stream=stream)

    def _watch_start(self, options: ListOptions) -> int | None:
        """The version to continue from; None to begin with the current objects."""
        if not options.version:
            return self._store.version if options.send_initial_events is False else None
        try:
            version = version_number(options.version)
        except ValueError as error:
            raise StatusError(500, "", str(error)) from None
        if version == 0:
            return self._store.version if options.send_initial_events is False else None
        return version

    def _selection(self, info: RequestInfo, options: ListOptions) -> Selection:
        strategy = self.registry.strategy_of(info.resource)
        selection = select(
            info.namespace,
            options.label_selector,
            options.field_selector,
            selectable=strategy.selectable_fields,
            unknown_field=strategy.unknown_field,
        )
        if not strategy.selects_namespace and any(term.field == NAMESPACE for term in selection.fields):
            raise bad_request(strategy.unknown_field(NAMESPACE))
        if not info.name:
            return selection
        if selection.fields and selection.name != info.name:
            raise bad_request("fieldSelector metadata.name doesn't match requested name")
        return selection._replace(fields=(FieldTerm(NAME, equal=True, value=info.name),))

    # --- writing ----------------------------------------------------------------------------------

    def create(self, info: RequestInfo, codec: Codec) -> ApiResponse:
        view = self.views.of(info)
        request, warnings = info.request, info.warnings
        options = read_write_options(request, CREATE_OPTIONS)
        obj = read_object(request, codec, options.field_validation, warnings)
        self.registry.strategy_of(info.resource).default(obj)
        entry = self.registry.create(info.resource, info.namespace, obj, options.context(request, warnings))
        return self.views.response(info, 201, view.one(entry), warnings)

    def update(self, info: RequestInfo, codec: Codec) -> ApiResponse:
        view = self.views.of(info)
        request, warnings = info.request, info.warnings
        options = read_write_options(request, UPDATE_OPTIONS)
        obj = read_object(request, codec, options.field_validation, warnings)
        place_in_namespace(obj, info.namespace)
        check_name(info, obj)
        strategy = self.registry.strategy_of(info.resource)
        strategy.default(obj)
        entry, created = self.registry.update(
            info.resource,
            info.namespace,
            info.name,
            lambda entry: self.registry.same_object(info.resource, obj, entry),
            options.context(request, warnings),
            subresource=info.subresource,
            make=(lambda: obj) if strategy.allows_create_on_update and not info.subresource else None,
        )
        return self.views.response(info, 201 if created else 200, view.one(entry), warnings)

    # --- deleting ---------------------------------------------------------------------------------

    def delete(self, info: RequestInfo) -> ApiResponse:
        view = self.views.of(info)
        options = read_delete_options(info.request)
        warnings = info.warnings
        self._warn_of_orphans(info, options)
        context = read_write_options(info.request, "DeleteOptions").context(info.request, warnings)
        context = context._replace(dry_run=options.dry_run)
        deleted = self.registry.delete(info.resource, info.namespace, info.name, options, context)
        status = 202 if not deleted.is_immediate and options.orphan is False else 200
        strategy = self.registry.strategy_of(info.resource)
        if not deleted.is_immediate or strategy.returns_deleted:
            return self.views.response(info, status, view.one(deleted.entry), warnings)
        return self.views.response(info, status, _encode(_success(info.resource, deleted)), warnings)

    def delete_collection(self, info: RequestInfo) -> ApiResponse:
        view = self.views.of(info, many=True)
        options = read_options(info.request)
        page = list_page(self._store, info.resource.stored_as, self._selection(info, options), options)
        deletion = read_delete_options(info.request)
        warnings = info.warnings
        self._warn_of_orphans(info, deletion)
        context = read_write_options(info.request, "DeleteOptions").context(info.request, warnings)
        context = context._replace(dry_run=deletion.dry_run)
        for entry in page.entries:
            self._delete_one(info.resource, entry, deletion, context)
        shown = Page(page.entries, page.version, page.continue_, page.remaining)
        return self.views.response(info, 200, view.many(shown), warnings)

    def _warn_of_orphans(self, info: RequestInfo, options: DeleteOptions) -> None:
        strategy = self.registry.strategy_of(info.resource)
        if strategy.orphan_warning and options.orphan is None and options.propagation is None:
            info.warnings.append(strategy.orphan_warning)

    def _delete_one(self, resource: ApiResource, entry: StoredObject, deletion: Any, context: Any) -> None:
        try:
            self.registry.delete(resource, entry.key.namespace, entry.key.name, deletion, context)
        except StatusError as error:
            if error.code != 404:
                raise


def _success(resource: ApiResource, deleted: DeletionResult) -> Object:
    details = {"name": deleted.entry.key.name, "group": resource.group, "kind": resource.plural}
    details["uid"] = deleted.entry.uid
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {field: value for field, value in details.items() if value},
    }
