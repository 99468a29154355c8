"""Validation of label keys and values, and error messages with a field path, in Kubernetes' words.

Each check returns a list of errors, empty for a valid value; `invalid` and `not_supported` add the field path,
`join_errors` joins several errors into one line.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME_RE = re.compile(_NAME, re.ASCII)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN, re.ASCII)

_CHARACTERS = "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
_MAX_NAME = 63
_MAX_SUBDOMAIN = 253


def label_key_errors(key: str) -> list[str]:
    """What is wrong with a label key: an optional DNS prefix, a slash, a name."""
    head, slash, name = key.rpartition("/")
    must = _pattern(f"must consist of {_CHARACTERS}", _NAME, "MyName", "my.name", "123-abc")
    if "/" in head:
        return [
            f"a valid label key {must} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    errors = [f"prefix part {error}" for error in _prefix_errors(head)] if slash else []
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > _MAX_NAME:
        errors.append(f"name part {_too_long(_MAX_NAME)}")
    if not _NAME_RE.fullmatch(name):
        errors.append(f"name part {must}")
    return errors


def label_value_errors(value: str) -> list[str]:
    """What is wrong with a label value: empty, or up to 63 bytes of name characters."""
    errors = []
    if len(value.encode()) > _MAX_NAME:
        errors.append(_too_long(_MAX_NAME))
    if value and not _NAME_RE.fullmatch(value):
        text = f"a valid label must be an empty string or consist of {_CHARACTERS}"
        errors.append(_pattern(text, f"({_NAME})?", "MyValue", "my_value", "12345"))
    return errors


def invalid(path: str, value: object, detail: str) -> str:
    """`path: Invalid value: "value": detail`"""
    return f"{path}: Invalid value: {_json(value)}: {detail}"


def not_supported(path: str, value: str, supported: Iterable[str]) -> str:
    """`path: Unsupported value: "value": supported values: "A", "B"`"""
    names = ", ".join(_json(name) for name in supported)
    return f"{path}: Unsupported value: {_json(value)}: supported values: {names}"


def join_errors(errors: Sequence[str]) -> str:
    """Several errors as one text, each once, in brackets when there are more than one."""
    distinct = list(dict.fromkeys(errors))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def _prefix_errors(prefix: str) -> list[str]:
    if not prefix:
        return ["must be non-empty"]
    errors = []
    if len(prefix.encode()) > _MAX_SUBDOMAIN:
        errors.append(_too_long(_MAX_SUBDOMAIN))
    if not _SUBDOMAIN_RE.fullmatch(prefix):
        text = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            "and must start and end with an alphanumeric character"
        )
        errors.append(_pattern(text, _SUBDOMAIN, "example.com"))
    return errors


def _pattern(text: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown}regex used for validation is '{pattern}')"


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _json(value: object) -> str:
    if isinstance(value, tuple) and not value:
        return "null"  # a list that is not there; Go keeps nil and empty apart, we do not
    return msgspec.json.encode(value).decode()
