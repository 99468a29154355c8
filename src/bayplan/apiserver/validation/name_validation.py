"""Validation of names, in the words of Kubernetes.

Each check returns its complaints, none for a valid name. With `prefix` the name is the beginning of a generated
one, which may end in a dash.
"""

from __future__ import annotations

import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_LABEL_1035_RE = re.compile(_LABEL_1035)
_QUALIFIED_RE = re.compile(_QUALIFIED)
_CONFIG_KEY_RE = re.compile(_CONFIG_KEY)

_ENDS = "and must start and end with an alphanumeric character"
_LABEL_TEXT = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_TEXT = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS} "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, "
    f"and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_LABEL_1035}')"
)
_QUALIFIED_TEXT = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_CONFIG_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY}')"
)


def too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _checked(name: str, form: re.Pattern[str], limit: int, text: str, *, prefix: bool) -> list[str]:
    # A dash at the end of a prefix is not the end: more letters follow.
    checked = name[:-1] + "a" if prefix and len(name) > 1 and name.endswith("-") else name
    errors = []
    if len(checked.encode()) > limit:
        errors.append(too_long(limit))
    if not form.fullmatch(checked):
        errors.append(text)
    return errors


def subdomain_errors(name: str, *, prefix: bool = False) -> list[str]:
    """RFC 1123 subdomain: most objects."""
    return _checked(name, _SUBDOMAIN_RE, 253, _SUBDOMAIN_TEXT, prefix=prefix)


def label_errors(name: str, *, prefix: bool = False) -> list[str]:
    """RFC 1123 label: namespaces, containers, volumes."""
    text = "must not contain dots" if "." in name and _SUBDOMAIN_RE.fullmatch(name) else _LABEL_TEXT
    return _checked(name, _LABEL_RE, 63, text, prefix=prefix)


def label_1035_errors(name: str, *, prefix: bool = False) -> list[str]:
    """RFC 1035 label: services."""
    return _checked(name, _LABEL_1035_RE, 63, _LABEL_1035_TEXT, prefix=prefix)


def path_segment_errors(name: str, *, prefix: bool = False) -> list[str]:
    """Anything that a URL path segment can hold: RBAC names."""
    if name in (".", "..") and not prefix:
        return [f"may not be '{name}'"]
    return [f"may not contain '{symbol}'" for symbol in ("/", "%") if symbol in name]


def qualified_name_errors(name: str) -> list[str]:
    """A label key: an optional DNS prefix, a slash, a name."""
    parts = name.split("/")
    if len(parts) > 2:
        return [
            f"a valid label key {_QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    errors = []
    if len(parts) == 2:
        head = parts[0]
        complaints = subdomain_errors(head) if head else ["must be non-empty"]
        errors += [f"prefix part {complaint}" for complaint in complaints]
    last = parts[-1]
    if not last:
        errors.append("name part must be non-empty")
    elif len(last.encode()) > 63:
        errors.append(f"name part {too_long(63)}")
    if not _QUALIFIED_RE.fullmatch(last):
        errors.append(f"name part {_QUALIFIED_TEXT}")
    return errors


def label_value_errors(value: str) -> list[str]:
    errors = []
    if len(value.encode()) > 63:
        errors.append(too_long(63))
    if value and not _QUALIFIED_RE.fullmatch(value):
        errors.append(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            f"{_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', "
            f"regex used for validation is '({_QUALIFIED})?')"
        )
    return errors


def config_key_errors(key: str) -> list[str]:
    """A key of a ConfigMap or Secret."""
    errors = []
    if len(key.encode()) > 253:
        errors.append(too_long(253))
    if not _CONFIG_KEY_RE.fullmatch(key):
        errors.append(_CONFIG_KEY_TEXT)
    if key in (".", ".."):
        errors.append(f"must not be '{key}'")
    elif key.startswith(".."):
        errors.append("must not start with '..'")
    return errors


def env_name_errors(name: str) -> list[str]:
    """The name of an environment variable: printable ASCII without `=`."""
    if not name:
        return ["environment variable name must be non-empty"]
    if not all(" " <= letter <= "~" and letter != "=" for letter in name):
        return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    return []


def port_name_errors(name: str) -> list[str]:
    """IANA service name: the name of a container port."""
    errors = []
    if len(name) > 15:
        errors.append("must be no more than 15 characters")
    if not re.fullmatch("[-a-z0-9]*", name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def port_number_errors(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]
