"""The verb patch: JSON, merge and strategic merge patches; server-side apply is in `applying`."""

from __future__ import annotations

import msgspec

from bayplan.apiserver.codec import Codec, Decoded, duplicate_fields
from bayplan.apiserver.exchange import Response
from bayplan.apiserver.patches import (
    APPLY_PATCH,
    BUILT_IN_FORMATS,
    CUSTOM_FORMATS,
    JSON_PATCH,
    patched,
    unknown_in_operations,
    unsupported,
)
from bayplan.apiserver.registry import Registry
from bayplan.apiserver.rest.applying import Applying
from bayplan.apiserver.rest.body import media_type
from bayplan.apiserver.rest.call import Call, check_name
from bayplan.apiserver.rest.options import IGNORE, STRICT, WriteOptions, read_patch_options
from bayplan.apiserver.rest.view_choice import Views
from bayplan.apiserver.status import Cause, StatusError, invalid
from bayplan.apiserver.store import Entry
from bayplan.apiserver.strategy import Object


class Patching:
    """See the module's text."""

    def __init__(self, registry: Registry, views: Views) -> None:
        self._registry = registry
        self._views = views
        self._applying = Applying(registry)

    def patch(self, call: Call, codec: Codec) -> Response:
        formats = CUSTOM_FORMATS if call.resource.custom else BUILT_IN_FORMATS
        content_type = media_type(call.request.content_type)
        if content_type not in formats:
            raise unsupported(formats)
        view = self._views.of(call)
        applies = content_type == APPLY_PATCH
        options = read_patch_options(call.request, applies=applies)
        warnings = call.warnings
        if applies:
            entry, created = self._applying.apply(call, codec, options, warnings)
        else:
            entry, created = self._patch(call, codec, content_type, options, warnings)
        return self._views.response(call, 201 if created else 200, view.one(entry), warnings)

    def _patch(
        self, call: Call, codec: Codec, content_type: str, options: WriteOptions, warnings: list[str]
    ) -> tuple[Entry, bool]:
        def change(entry: Entry) -> Object:
            current = self._registry.decoded(call.resource, entry)
            result = patched(content_type, current, call.request.body, codec.node)
            obj, findings = _decoded(result, codec, options)
            if options.field_validation != IGNORE:
                findings = [*_findings_in_patch(call.request.body, content_type), *findings]
            if findings and options.field_validation == STRICT:
                raise _bad_patch(result, f"strict decoding error: {', '.join(findings)}")
            warnings.extend(findings)
            self._registry.strategy_of(call.resource).default(obj)
            check_name(call, obj)
            return obj

        return self._registry.update(
            call.resource,
            call.namespace,
            call.name,
            change,
            options.asking(call.request, warnings),
            subresource=call.subresource,
        )


def _decoded(result: Object, codec: Codec, options: WriteOptions) -> Decoded:
    """What the patch made, as an object of the kind; that it is none is the patch's fault."""
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
    return invalid("", "", "", [Cause("patch", "FieldValueInvalid", f"Invalid value: {quoted}: {why}")])
