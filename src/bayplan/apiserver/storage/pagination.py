"""Lists: options of the request, pages with continue tokens, and the version that is shown.

Later pages show the version of the first one: the token holds it, and the store undoes later changes.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re
from typing import Final, NamedTuple

import msgspec

from bayplan.apiserver.api_errors import StatusCause, StatusError, bad_request, invalid
from bayplan.apiserver.storage.history import CompactedError
from bayplan.apiserver.storage.selection import Selection
from bayplan.apiserver.storage.versioned_store import StoredObject, VersionedStore
from bayplan.apiserver.transport.api_messages import ApiRequest

EXACT: Final = "Exact"
NOT_OLDER_THAN: Final = "NotOlderThan"
_TOKEN_VERSION: Final = "meta.k8s.io/v1"  # noqa: S105  no secret
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_MAX_UINT64: Final = 2**64 - 1
_BAD_KEY: Final = "continue key is not valid"
_LIST_EXPIRED: Final = "The resourceVersion for the provided list is too old."
_CONTINUE_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list "
    "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
    "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
    "modified, or deleted between the time the first chunk was returned and now may show up in the list."
)


class ListOptions(NamedTuple):
    """Options in the query of a list or a watch."""

    label_selector: str = ""
    field_selector: str = ""
    watch: bool = False
    allow_bookmarks: bool = False
    version: str = ""
    version_match: str = ""
    limit: int = 0
    continue_: str = ""
    timeout_seconds: int | None = None
    send_initial_events: bool | None = None


class Page(NamedTuple):
    """A list, or a page of one."""

    entries: list[StoredObject]
    version: int
    continue_: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct):
    v: str = ""
    rv: int = 0
    start: str = ""


# --- options --------------------------------------------------------------------------------------


def read_options(request: ApiRequest, *, watch: bool = False) -> ListOptions:
    """The validated options of a request; *watch* for paths that are always watches."""
    if not request.query:
        return _NO_OPTIONS if not watch else _ONLY_WATCH
    initial = _flag(request, "sendInitialEvents") if "sendInitialEvents" in request.query else None
    options = ListOptions(
        label_selector=request.first("labelSelector"),
        field_selector=request.first("fieldSelector"),
        watch=watch or _flag(request, "watch"),
        allow_bookmarks=_flag(request, "allowWatchBookmarks"),
        version=request.first("resourceVersion"),
        version_match=request.first("resourceVersionMatch"),
        limit=_number(request, "limit") or 0,
        continue_=request.first("continue"),
        timeout_seconds=_number(request, "timeoutSeconds"),
        send_initial_events=initial,
    )
    if _begins_with_state(options) and not watch:
        # An older form of the same.
        options = options._replace(send_initial_events=True, version_match=NOT_OLDER_THAN)
    causes = _watch_causes(options) if options.watch else _list_causes(options)
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)
    return options


def _begins_with_state(options: ListOptions) -> bool:
    return (
        options.watch
        and options.version in ("", "0")
        and options.send_initial_events is None
        and not options.version_match
    )


_NO_OPTIONS: Final = ListOptions()
_ONLY_WATCH: Final = ListOptions(watch=True)


def _flag(request: ApiRequest, parameter: str) -> bool:
    return parameter in request.query and request.first(parameter).lower() not in ("false", "0")


def _number(request: ApiRequest, parameter: str) -> int | None:
    if parameter not in request.query:
        return None
    text = request.first(parameter)
    if not _INTEGER.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def _list_causes(options: ListOptions) -> list[StatusCause]:
    causes, match = [], options.version_match
    if match:
        if not options.version:
            causes.append(_forbidden_match("resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if options.continue_:
            causes.append(_forbidden_match("resourceVersionMatch is forbidden when continue is provided"))
        if match not in (EXACT, NOT_OLDER_THAN):
            causes.append(_unsupported_match(match, '"Exact", "NotOlderThan", ""'))
        if match == EXACT and options.version == "0":
            why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
            causes.append(_forbidden_match(why))
    if options.send_initial_events is not None:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_causes(options: ListOptions) -> list[StatusCause]:
    causes, match = [], options.version_match
    if options.send_initial_events is not None and match != NOT_OLDER_THAN:
        causes.append(_forbidden_match("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if options.send_initial_events is None:
            why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            causes.append(_forbidden_match(why))
        if match != NOT_OLDER_THAN:
            causes.append(_unsupported_match(match, '"NotOlderThan"'))
        if options.continue_:
            causes.append(_forbidden_match("resourceVersionMatch is forbidden when continue is provided"))
    return causes


def _forbidden(field: str, why: str) -> StatusCause:
    return StatusCause(field, "FieldValueForbidden", f"Forbidden: {why}")


def _forbidden_match(why: str) -> StatusCause:
    return _forbidden("resourceVersionMatch", why)


def _unsupported_match(match: str, supported: str) -> StatusCause:
    message = f'Unsupported value: "{match}": supported values: {supported}'
    return StatusCause("resourceVersionMatch", "FieldValueNotSupported", message)


# --- versions -------------------------------------------------------------------------------------


def version_number(text: str) -> int:
    """A resourceVersion as a number; ValueError in Go's words if it is invalid."""
    digits = text.isascii() and text.isdigit()
    if digits and int(text) <= _MAX_UINT64:
        return int(text)
    why = "value out of range" if digits else "invalid syntax"
    raise ValueError(f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}')


def check_not_future(version: int, store: VersionedStore) -> None:
    """Raise an error that tells the client to retry if the version does not exist yet."""
    if version > store.version:
        raise too_large_version(version, store)


def too_large_version(version: int, store: VersionedStore) -> StatusError:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {version}, current: {store.version}",
        details={"causes": causes, "retryAfterSeconds": 1},
        retry_after_seconds=1,
    )


def expired(message: str) -> StatusError:
    return StatusError(410, "Expired", message)


# --- pages ----------------------------------------------------------------------------------------


def list_page(store: VersionedStore, resource: str, selection: Selection, options: ListOptions) -> Page:
    """The objects that a request selects, in order."""
    # 1. Determine the version and the first key.
    at, start = _starting_point(options)
    if at is not None:
        check_not_future(at, store)
    # 2. The objects at that version.
    entries = _state(store, resource, selection.namespace, at, options)
    version = at if at is not None else store.version
    if start:
        entries = [entry for entry in entries if _relative(entry, selection) >= start]
    # 3. Select, up to the limit.
    limit = options.limit if options.limit > 0 and (at is not None or options.version != "0") else 0
    if not limit or (len(entries) <= limit and selection.is_everything):
        return Page(_selected(entries, selection), version)
    return _first_of(entries, selection, limit, version)


def _starting_point(options: ListOptions) -> tuple[int | None, str]:
    """The version to show (None: the latest) and the key to begin with."""
    if options.continue_:
        token = _decode_token(options.continue_)
        if options.version not in ("", "0"):
            raise bad_request("specifying resource version is not allowed when using continue")
        return (token.rv if token.rv > 0 else None), token.start.removeprefix("/")
    if not options.version:
        return None, ""
    try:
        version = version_number(options.version)
    except ValueError as error:
        raise bad_request(f"invalid resource version: {error}") from None
    exact = options.version_match == EXACT or (not options.version_match and options.limit > 0 and version > 0)
    return (version if exact else None), ""


def _state(
    store: VersionedStore, resource: str, namespace: str, at: int | None, options: ListOptions
) -> list[StoredObject]:
    if at is None:
        if options.version and not options.continue_:
            check_not_future(int(options.version), store)
        return store.list(resource, namespace)
    try:
        return store.list_at(resource, namespace, at)
    except CompactedError:
        if not options.continue_:
            raise expired(_LIST_EXPIRED) from None
    token = _decode_token(options.continue_)
    error = expired(_CONTINUE_EXPIRED)
    error.list_continue = _encode_token(token.start, -1)
    raise error


def _selected(entries: list[StoredObject], selection: Selection) -> list[StoredObject]:
    if selection.is_everything:
        return entries
    name = selection.name
    if name is not None:
        entries = [entry for entry in entries if entry.key.name == name]
    return [entry for entry in entries if selection.matches(entry)]


def _first_of(entries: list[StoredObject], selection: Selection, limit: int, version: int) -> Page:
    chosen: list[StoredObject] = []
    last = None
    for seen, entry in enumerate(entries):  # noqa: B007  the number is used when the page is full
        if len(chosen) == limit:
            break
        last = entry
        if selection.matches(entry):
            chosen.append(entry)
    else:
        return Page(chosen, version)
    assert last is not None  # noqa: S101  a limit is positive
    remaining = len(entries) - seen if selection.is_everything else None
    return Page(chosen, version, _encode_token(f"/{_relative(last, selection)}\0", version), remaining)


def _relative(entry: StoredObject, selection: Selection) -> str:
    """The key in a token: relative to the namespace if the list is of one."""
    key = entry.key
    return key.name if selection.namespace or not key.namespace else key.path


# --- continue tokens ------------------------------------------------------------------------------


def _encode_token(start: str, version: int) -> str:
    encoded = msgspec.json.encode(_Token(_TOKEN_VERSION, version, start))
    return base64.urlsafe_b64encode(encoded).rstrip(b"=").decode()


def _decode_token(text: str) -> _Token:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        token = msgspec.json.decode(raw, type=_Token)
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise _bad_token(f"{_BAD_KEY}: {error}") from None
    if token.v != _TOKEN_VERSION:
        raise _bad_token(f"{_BAD_KEY}: server does not recognize this encoded version {token.v}")
    if token.rv == 0:
        raise _bad_token(f"{_BAD_KEY}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not token.start:
        raise _bad_token(f"{_BAD_KEY}: encoded start key empty (version meta.k8s.io/v1)")
    rooted = token.start if token.start.startswith("/") else f"/{token.start}"
    if posixpath.normpath(rooted) != rooted:
        raise _bad_token(f"{_BAD_KEY}: {token.start}")
    return token


def _bad_token(why: str) -> StatusError:
    return bad_request(f"invalid continue token: {why}")
