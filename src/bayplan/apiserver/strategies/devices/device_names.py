"""Validation of names that devices and claims use: drivers, pools, attributes, requests, share IDs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.validation.field_errors import each, invalid, required, too_long
from bayplan.apiserver.validation.name_validation import label_errors, qualified_name_errors, subdomain_errors

MAX_DOMAIN: Final = 63
MAX_IDENTIFIER: Final = 32
#: A qualified name: domain, slash, identifier.
MAX_QUALIFIED: Final = MAX_DOMAIN + 1 + MAX_IDENTIFIER
_MAX_POOL: Final = 253
_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_IDENTIFIER_TEXT: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    f"'{_IDENTIFIER}')"
)
_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = re.compile(rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}")
_UUID_LENGTH: Final = 36
_UNKNOWN_REQUEST: Final = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)


def label_causes_of(name: str, path: str) -> list[StatusCause]:
    """Errors of a name that must be a DNS label: devices, requests, counters."""
    return each(path, name, label_errors(name))


def key_causes(name: str, path: str) -> list[StatusCause]:
    """Errors of a name that must have the form of a label's key: taints, conditions."""
    return each(path, name, qualified_name_errors(name))


def driver_causes(name: str, path: str) -> list[StatusCause]:
    if not name:
        return [required(path)]
    found = [too_long(path, MAX_DOMAIN)] if len(name.encode()) > MAX_DOMAIN else []
    return found + each(path, name, subdomain_errors(name.lower()))


def pool_causes(name: str, path: str) -> list[StatusCause]:
    """One or more subdomains, separated by slashes."""
    if not name:
        return [required(path)]
    found = [too_long(path, _MAX_POOL)] if len(name.encode()) > _MAX_POOL else []
    for part in name.split("/"):
        found += each(path, part, subdomain_errors(part))
    return found


def qualified_causes(name: str, path: str) -> Iterator[StatusCause]:
    """An identifier, or a domain and an identifier. As upstream, more than one slash goes unnoticed."""
    parts = name.split("/")
    if len(parts) == 1:
        yield from _identifier_causes(name, path)
    elif len(parts) == 2:
        domain, identifier = parts
        yield from driver_causes(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
        if identifier:
            yield from _identifier_causes(identifier, path)
        else:
            yield invalid(path, "", "the name must not be empty")


def fully_qualified_causes(name: str, path: str) -> Iterator[StatusCause]:
    yield from qualified_causes(name, path)
    if "/" not in name:
        yield invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash")


def _identifier_causes(name: str, path: str) -> Iterator[StatusCause]:
    if len(name.encode()) > MAX_IDENTIFIER:
        yield too_long(path, MAX_IDENTIFIER)
    if not re.fullmatch(_IDENTIFIER, name):
        yield invalid(path, name, _IDENTIFIER_TEXT)


def share_id_causes(share_id: str, path: str) -> list[StatusCause]:
    if not _UUID.fullmatch(share_id):
        why = "format" if len(share_id) == _UUID_LENGTH else f"length: {len(share_id)}"
        return [invalid(path, share_id, f"error validating uid: invalid UUID {why}")]
    if share_id != share_id.lower():
        text = (
            "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` "
            "with lowercase hexadecimal characters"
        )
        return [invalid(path, share_id, text)]
    return []


class RequestNames:
    """The names that a claim's constraints, configuration and results may refer to."""

    def __init__(self, requests: Iterable[Mapping[str, Any]]) -> None:
        self._names: set[str] = set()
        for request in requests:
            name = request.get("name", "")
            self._names.add(name)
            self._names |= {f"{name}/{each.get('name', '')}" for each in request.get("firstAvailable", ())}

    def reference_causes(self, name: str, path: str) -> Iterator[StatusCause]:
        """Errors of a reference: `request` or `request/subrequest`."""
        parts = name.split("/")
        if len(parts) <= 2:
            for part in parts:
                yield from label_causes_of(part, path)
        if name not in self._names:
            yield invalid(path, name, _UNKNOWN_REQUEST)
