"""Options of deletions, from the body, or from the query if there is no body."""

from __future__ import annotations

import msgspec

from bayplan.apiserver import protobuf
from bayplan.apiserver.api_errors import bad_request, invalid
from bayplan.apiserver.registry.deletion import BACKGROUND, FOREGROUND, ORPHAN, DeleteOptions
from bayplan.apiserver.rest.options import dry_run_causes
from bayplan.apiserver.rest.request_body import media_type, read_value
from bayplan.apiserver.transport.api_messages import ApiRequest
from bayplan.apiserver.validation.field_errors import invalid as invalid_value
from bayplan.apiserver.validation.field_errors import not_supported
from bayplan.model.wire_format import PROTOBUF

_KIND = "DeleteOptions"


class _Preconditions(msgspec.Struct, rename="camel"):
    uid: str | None = None
    resource_version: str | None = None


class _Body(msgspec.Struct, rename="camel"):
    """DeleteOptions as clients write them."""

    kind: str | None = None
    api_version: str | None = None
    grace_period_seconds: int | None = None
    preconditions: _Preconditions | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: list[str] | None = None


def read_delete_options(request: ApiRequest) -> DeleteOptions:
    """The validated options of a deletion."""
    options = _from_body(request) if request.body else _from_query(request)
    causes = []
    orphan, propagation = options.orphan_dependents, options.propagation_policy
    if orphan is not None and propagation is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", propagation, why))
    if propagation not in (None, FOREGROUND, BACKGROUND, ORPHAN):
        causes.append(not_supported("propagationPolicy", propagation, (FOREGROUND, BACKGROUND, ORPHAN, "nil")))
    causes += dry_run_causes(options.dry_run or [])
    if causes:
        raise invalid("meta.k8s.io", _KIND, "", causes)
    preconditions = options.preconditions or _Preconditions()
    return DeleteOptions(
        grace_seconds=options.grace_period_seconds,
        uid=preconditions.uid,
        version=preconditions.resource_version,
        propagation=propagation,
        orphan=orphan,
        dry_run=bool(options.dry_run),
    )


def _from_body(request: ApiRequest) -> _Body:
    try:
        value = protobuf.decode(request.body) if _is_protobuf(request) else read_value(request, _KIND)
        body = msgspec.convert(value, _Body)
    except (protobuf.WireFormatError, msgspec.ValidationError) as error:
        raise bad_request(f"json: cannot unmarshal DeleteOptions: {error}") from None
    if body.kind not in (None, "", _KIND):
        version = body.api_version or "meta.k8s.io/v1"
        scheme = 'in scheme "pkg/runtime/scheme.go:111"'
        raise bad_request(f'no kind "{body.kind}" is registered for version "{version}" {scheme}')
    return body


def _is_protobuf(request: ApiRequest) -> bool:
    return media_type(request.content_type) == PROTOBUF


def _from_query(request: ApiRequest) -> _Body:
    options = _Body()
    if not request.query:
        return options
    if "gracePeriodSeconds" in request.query:
        options.grace_period_seconds = _whole(request.first("gracePeriodSeconds"))
    if "propagationPolicy" in request.query:
        options.propagation_policy = request.first("propagationPolicy")
    if "orphanDependents" in request.query:
        options.orphan_dependents = request.first("orphanDependents").lower() not in ("false", "0")
    options.dry_run = list(request.query.get("dryRun", ()))
    return options


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
