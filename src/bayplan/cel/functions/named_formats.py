"""Formats by name: `format.dns1123Label().validate("my-name")` says what is wrong with a text, if anything."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date
from typing import Any

from bayplan.cel.checking.cel_types import FORMAT
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.url_text import UrlError, parse_url
from bayplan.cel.runtime.cel_values import NONE, OptionalValue, register
from bayplan.model.label_validation import label_key_errors, label_value_errors

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}", re.IGNORECASE)
_DATE_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})", re.IGNORECASE)
_MAX_LABEL = 63
_MAX_SUBDOMAIN = 253


class NamedFormat:
    """A format: its name, what it finds wrong, and how long its regular expression is for costs."""

    __slots__ = ("max_regex_size", "name", "problems")

    def __init__(self, name: str, problems: Callable[[str], list[str]], max_regex_size: int) -> None:
        self.name = name
        self.problems = problems
        self.max_regex_size = max_regex_size

    def __str__(self) -> str:
        return self.name


register(NamedFormat, FORMAT)


def _checked(text: str, pattern: str, limit: int, complaint: str, *examples: str) -> list[str]:
    problems = []
    if len(text.encode()) > limit:
        problems.append(f"must be no more than {limit} characters")
    if not re.fullmatch(pattern, text):
        shown = " or ".join(f"'{example}', " for example in examples)
        problems.append(f"{complaint} (e.g. {shown}regex used for validation is '{pattern}')")
    return problems


def _label(text: str) -> list[str]:
    problems = _checked(
        text,
        _LABEL,
        _MAX_LABEL,
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character",
        "my-name",
        "123-abc",
    )
    if not re.fullmatch(_LABEL, text) and re.fullmatch(_SUBDOMAIN, text):
        problems[-1] = "must not contain dots"
    return problems


def _subdomain(text: str) -> list[str]:
    return _checked(
        text,
        _SUBDOMAIN,
        _MAX_SUBDOMAIN,
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
        "and must start and end with an alphanumeric character",
        "example.com",
    )


def _label_1035(text: str) -> list[str]:
    return _checked(
        text,
        _LABEL_1035,
        _MAX_LABEL,
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character",
        "my-name",
        "abc-123",
    )


def _of_prefix(problems: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """A prefix may end in a dash, as more will follow."""

    def of_prefix(text: str) -> list[str]:
        return problems(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return of_prefix


def _uri(text: str) -> list[str]:
    try:
        parse_url(text, of_request=True)
    except UrlError as error:
        return [str(error)]
    return []


def _complains(fits: Callable[[str], bool], complaint: str) -> Callable[[str], list[str]]:
    return lambda text: [] if fits(text) else [complaint]


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_date(text: str) -> bool:
    try:
        return bool(re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) and date.fromisoformat(text))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    day, _, time = text.lower().partition("t")
    found = _DATE_TIME.fullmatch(time)
    return bool(_is_date(day) and found and int(found[1]) < 24 and int(found[2]) < 60 and int(found[3]) < 60)


_FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", _label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", _label_1035, 30),
    "qualifiedName": NamedFormat("QualifiedName", label_key_errors, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _of_prefix(_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _of_prefix(_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _of_prefix(_label_1035), 30),
    "labelValue": NamedFormat("LabelValue", label_value_errors, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat(
        "uuid", _complains(lambda text: bool(_UUID.fullmatch(text)), "does not match the UUID format"), 70
    ),
    "byte": NamedFormat("byte", _complains(_is_base64, "invalid base64"), 84),
    "date": NamedFormat("date", _complains(_is_date, "invalid date"), 71),
    "datetime": NamedFormat("datetime", _complains(_is_date_time, "invalid datetime"), 71),
}


def _named(name: str) -> OptionalValue:
    return OptionalValue(_FORMATS[name]) if name in _FORMATS else NONE


def _validate(named_format: NamedFormat, text: str) -> OptionalValue:
    problems: list[Any] = named_format.problems(text)
    return OptionalValue(problems) if problems else NONE


def declare_named_formats() -> Library:
    """Kubernetes' library of formats."""
    library = Library()
    add = library.overload
    add("validate", "format.(string) -> optional(list(string))", "format-validate", _validate)
    add("format.named", "(string) -> optional(format)", "format-named", _named)
    for name, named_format in _FORMATS.items():
        add(f"format.{name}", "() -> format", f"format.{name}", lambda found=named_format: found)
    return library
