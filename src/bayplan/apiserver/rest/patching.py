"""The verb patch: JSON, merge and strategic merge patches; server-side apply is in `applying`."""

from __future__ import annotations

import msgspec

from bayplan.apiserver.api_errors import StatusCause, StatusError, invalid
from bayplan.apiserver.codec import Codec, Decoded, duplicate_fields
from bayplan.apiserver.patches import (
    APPLY_PATCH,
    BUILT_IN_FORMATS,
    CUSTOM_FORMATS,
    JSON_PATCH,
    patched,
    unknown_in_operations,
    unsupported,
)
from bayplan.apiserver.registry.resource_registry import ResourceRegistry
from bayplan.apiserver.registry.rest_strategy import Object
from bayplan.apiserver.rest.applying import ApplyVerb
from bayplan.apiserver.rest.options import IGNORE, STRICT, WriteOptions, read_patch_options
from bayplan.apiserver.rest.request_body import media_type
from bayplan.apiserver.rest.request_info import RequestInfo, check_name
from bayplan.apiserver.rest.view_selector import ViewSelector
from bayplan.apiserver.storage.versioned_store import StoredObject
from bayplan.apiserver.transport.api_messages import ApiResponse


class PatchVerb:
    """See the module docstring."""

    def __init__(self, registry: ResourceRegistry, views: ViewSelector) -> None:
        self._registry = registry
        self._views = views
        self._applying = ApplyVerb(registry)

    def patch(self, info: RequestInfo, codec: Codec) -> ApiResponse:
        formats = CUSTOM_FORMATS if info.resource.custom else BUILT_IN_FORMATS
        content_type = media_type(info.request.content_type)
        if content_type not in formats:
            raise unsupported(formats)
        view = self._views.of(info)
        applies = content_type == APPLY_PATCH
        options = read_patch_options(info.request, applies=applies)
        warnings = info.warnings
        if applies:
            entry, created = self._applying.apply(info, codec, options, warnings)
        else:
            entry, created = self._patch(info, codec, content_type, options, warnings)
        return self._views.response(info, 201 if created else 200, view.one(entry), warnings)

    def _patch(
        self, info: RequestInfo, codec: Codec, content_type: str, options: WriteOptions, warnings: list[str]
    ) -> tuple[StoredObject, bool]:
        def change(entry: StoredObject) -> Object:
            current = self._registry.decoded(info.resource, entry)
            result = patched(content_type, current, info.request.body, codec.node)
            obj, findings = _decoded(result, codec, options)
            if options.field_validation != IGNORE:
                findings = [*_findings_in_patch(info.request.body, content_type), *findings]
            if findings and options.field_validation == STRICT:
                raise _bad_patch(result, f"strict decoding error: {', '.join(findings)}")
            warnings.extend(findings)
            self._registry.strategy_of(info.resource).default(obj)
            check_name(info, obj)
            return obj

        return self._registry.update(
            info.resource,
            info.namespace,
            info.name,
            change,
            options.context(info.request, warnings),
            subresource=info.subresource,
        )


def _decoded(result: Object, codec: Codec, options: WriteOptions) -> Decoded:
    """The result of the patch as an object of the kind; decoding errors are the patch's fault."""
    try:
        return codec.decode(result, collect_unknown=options.field_validation != IGNORE)
    except StatusError as error:
        raise _bad_patch(result, error.message) from error


def _findings_in_patch(body: bytes, content_type: str) -> list[str]:
    found = duplicate_fields(body, msgspec.json.decode(body))
    if content_type != JSON_PATCH:
        return found
    return [f"json patch {finding}" for finding in [*found, *unknown_in_operations(body)]]


def _bad_patch(result: Object, why: str) -> StatusError:
    quoted = msgspec.json.encode(msgspec.json.encode(result).decode()).decode()
    return invalid("", "", "", [StatusCause("patch", "FieldValueInvalid", f"Invalid value: {quoted}: {why}")])
