"""Decodes request bodies in protobuf, which kubectl sends for built-in kinds. Responses stay JSON.

In: the bytes of a request. Out: the value that the same request has in JSON. Field numbers and names
are in `fields.json`, which `tools/protobuf-fields` generates from Kubernetes' Go types.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple

import msgspec

from bayplan.apiserver.protobuf.special import SPECIAL
from bayplan.model.wire_format import MAGIC, OBJECT, TYPE, WireFormatError, fields_of, scalar

__all__ = ["WireFormatError", "decode"]

#: Messages with two alternatives and no name for either, in the schemas of custom resources.
_ALTERNATIVES: Final = tuple(
    f"apiextensions.v1.JSONSchemaPropsOr{each}" for each in ("Array", "Bool", "StringArray")
)
#: Lists that are messages themselves: their only field has no name.
_ITEMS: Final = ""


class _ProtoField(NamedTuple):
    name: str
    #: s, i, b, d, y, or a message.
    type: str
    is_list: bool
    is_map: bool
    is_pointer: bool

    @property
    def is_message(self) -> bool:
        """A single one: no list, no map."""
        return len(self.type) > 1 and not self.is_list and not self.is_map


def decode(body: bytes) -> dict[str, Any]:
    """The object in a body, kind and apiVersion included; raises WireFormatError if it is unknown."""
    try:
        return _decode(body)
    except UnicodeDecodeError as error:
        raise WireFormatError(f"a text that is not UTF-8: {error}") from None


def _decode(body: bytes) -> dict[str, Any]:
    if not body.startswith(MAGIC):
        raise WireFormatError(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    envelope = dict(fields_of(body[len(MAGIC) :]))
    types = dict(fields_of(_bytes(envelope.get(TYPE, b""))))
    api_version, kind = _bytes(types.get(1, b"")).decode(), _bytes(types.get(2, b"")).decode()
    value = _message(_message_of(api_version, kind), _bytes(envelope.get(OBJECT, b"")))
    return {"kind": kind, "apiVersion": api_version, **value}


def _message_of(api_version: str, kind: str) -> str:
    group, _, version = api_version.rpartition("/")
    # Every group takes options in its own version.
    name = (
        "meta.v1.DeleteOptions"
        if kind == "DeleteOptions"
        else f"{group.partition('.')[0] or 'core'}.{version}.{kind}"
    )
    if name not in _messages():
        raise WireFormatError(f'no kind "{kind}" is registered for version "{api_version}"')
    return name


@cache
def _messages() -> dict[str, dict[int, _ProtoField]]:
    text = resources.files(__package__).joinpath("fields.json").read_bytes()
    published = msgspec.json.decode(text, type=dict[str, dict[int, tuple[str, str]]])
    return {
        message: {number: _field(name, type_) for number, (name, type_) in fields.items()}
        for message, fields in published.items()
    }


def _field(name: str, type_: str) -> _ProtoField:
    plain = type_.lstrip("*[{")
    return _ProtoField(name, plain, type_.startswith("["), type_.startswith("{"), type_.startswith("*"))


def _message(message: str, data: bytes) -> Any:
    known = _messages()[message]
    if message in _ALTERNATIVES:
        return _alternative(known, data)
    value: dict[str, Any] = {}
    messages: dict[_ProtoField, bytes] = {}
    for number, raw in fields_of(data):
        field = known.get(number)
        if field is None:
            continue  # from a newer client; unknown here
        if field.is_message:
            messages[field] = messages.get(field, b"") + _bytes(raw)  # one that comes in pieces is merged
        elif field.is_map:
            key, each = _map_entry(field.type, _bytes(raw))
            value.setdefault(field.name, {})[key] = each
        elif field.is_list:
            value.setdefault(field.name, []).append(_value(field.type, raw))
        else:
            _set(value, field, _value(field.type, raw))
    for field, raw in messages.items():
        _set(value, field, _value(field.type, raw))
    if len(known) == 1 and known[1].name == _ITEMS and known[1].is_list:
        return value.get(_ITEMS, [])
    return value


def _alternative(known: dict[int, _ProtoField], data: bytes) -> Any:
    """The second field if it is there, else the first."""
    found: dict[int, list[int | bytes]] = {}
    for number, raw in fields_of(data):
        found.setdefault(number, []).append(raw)
    number = 2 if 2 in found else 1
    field = known[number]
    values = [_value(field.type, raw) for raw in found.get(number, ())]
    if field.is_list:
        return values
    return values[-1] if values else None


def _set(value: dict[str, Any], field: _ProtoField, each: Any) -> None:
    if field.name == _ITEMS:
        value.update(each)  # Go inlines it
    elif each is not None and (each or field.is_pointer or field.type not in SPECIAL):
        # What Go always writes although it was not set, for instance a zero time, is omitted in JSON.
        value[field.name] = each


def _value(type_: str, raw: int | bytes) -> Any:
    if len(type_) == 1:
        return scalar(type_, raw)
    special = SPECIAL.get(type_)
    return special(_bytes(raw)) if special is not None else _message(type_, _bytes(raw))


def _map_entry(type_: str, data: bytes) -> tuple[str, Any]:
    entry = dict(fields_of(data))
    return _bytes(entry.get(1, b"")).decode(), _value(type_, entry.get(2, b""))


def _bytes(raw: int | bytes) -> bytes:
    if isinstance(raw, bytes):
        return raw
    raise WireFormatError("a number where a message or a text should be")
