"""Options of deletions, from the body, or where there is none from the query."""

from __future__ import annotations

import msgspec

from bayplan.apiserver import protobuf
from bayplan.apiserver.causes import invalid as invalid_value
from bayplan.apiserver.causes import not_supported
from bayplan.apiserver.deletion import BACKGROUND, FOREGROUND, ORPHAN, DeleteOptions
from bayplan.apiserver.exchange import Request
from bayplan.apiserver.rest.body import PROTOBUF, media_type, read_value
from bayplan.apiserver.rest.options import dry_run_causes
from bayplan.apiserver.status import bad_request, invalid

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


def read_delete_options(request: Request) -> DeleteOptions:
    """The options of a deletion, checked."""
    said = _from_body(request) if request.body else _from_query(request)
    causes = []
    orphan, propagation = said.orphan_dependents, said.propagation_policy
    if orphan is not None and propagation is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(invalid_value("propagationPolicy", propagation, why))
    if propagation not in (None, FOREGROUND, BACKGROUND, ORPHAN):
        causes.append(not_supported("propagationPolicy", propagation, (FOREGROUND, BACKGROUND, ORPHAN, "nil")))
    causes += dry_run_causes(said.dry_run or [])
    if causes:
        raise invalid("meta.k8s.io", _KIND, "", causes)
    preconditions = said.preconditions or _Preconditions()
    return DeleteOptions(
        grace_seconds=said.grace_period_seconds,
        uid=preconditions.uid,
        version=preconditions.resource_version,
        propagation=propagation,
        orphan=orphan,
        dry_run=bool(said.dry_run),
    )


def _from_body(request: Request) -> _Body:
    try:
        value = protobuf.decode(request.body) if _is_protobuf(request) else read_value(request, _KIND)
        body = msgspec.convert(value, _Body)
    except (protobuf.MalformedError, msgspec.ValidationError) as error:
        raise bad_request(f"json: cannot unmarshal DeleteOptions: {error}") from None
    if body.kind not in (None, "", _KIND):
        version = body.api_version or "meta.k8s.io/v1"
        scheme = 'in scheme "pkg/runtime/scheme.go:111"'
        raise bad_request(f'no kind "{body.kind}" is registered for version "{version}" {scheme}')
    return body


def _is_protobuf(request: Request) -> bool:
    return media_type(request.content_type) == PROTOBUF


def _from_query(request: Request) -> _Body:
    said = _Body()
    if not request.query:
        return said
    if "gracePeriodSeconds" in request.query:
        said.grace_period_seconds = _whole(request.first("gracePeriodSeconds"))
    if "propagationPolicy" in request.query:
        said.propagation_policy = request.first("propagationPolicy")
    if "orphanDependents" in request.query:
        said.orphan_dependents = request.first("orphanDependents").lower() not in ("false", "0")
    said.dry_run = list(request.query.get("dryRun", ()))
    return said


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None
