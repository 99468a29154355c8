"""Label and field selectors, and kube-apiserver's messages for malformed ones."""

from __future__ import annotations

import pytest

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.storage.selection import select
from bayplan.apiserver.storage.versioned_store import Key, StoredObject

NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


def entry(fields: dict[str, str]) -> StoredObject:
    return StoredObject(Key("pods", "s", "a"), 1, b"{}", {}, fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("==bad", "found '==', expected: !, identifier, or 'end of string'"),
        ("app=web,", "found '', expected: identifier after ','"),
        ("app=web app=db", "found 'app', expected: ',' or 'end of string'"),
        ("!app=web", "found '=', expected: ',' or 'end of string'"),
        ("app exists", "unable to parse requirement: found 'exists', expected: in, notin, =, ==, !=, gt, lt"),
        ("app in (web", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("app in (web db)", "unable to parse requirement: found 'db', expected: ',' or ')'"),
        ("app in web", "unable to parse requirement: found 'web' expected: '('"),
        ("-bad=x", f'unable to parse requirement: <nil>: Invalid value: "-bad": {NAME_PART}'),
        ("/a=b", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'),
        (
            "n>x",
            'unable to parse requirement: values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ],
    ids=str,
)
def test_unreadable_label_selectors(text: str, message: str) -> None:
    """The messages are kube-apiserver's, to the letter."""
    with pytest.raises(StatusError) as refused:
        select("", text, "")

    assert (refused.value.code, refused.value.message) == (400, message)


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("metadata.name=a", True),
        ("metadata.name!=a", False),
        ("metadata.name==a,metadata.namespace=s", True),
        ("metadata.namespace=t", False),
        ("spec.nodeName=n1", True),
        ("spec.nodeName=", False),
        ("status.phase=", True),
        ("metadata.name=a\\,b", False),
        ("", True),
    ],
    ids=str,
)
def test_field_selectors(text: str, matches: bool) -> None:
    """A field without a value is empty."""
    selection = select("", "", text, selectable=("spec.nodeName", "status.phase"))

    assert selection.matches(entry({"spec.nodeName": "n1"})) is matches


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("spec.colour=red", "spec.colour?"),
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
        ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
    ],
    ids=str,
)
def test_unreadable_field_selectors(text: str, message: str) -> None:
    """A field that the kind does not support is refused with the kind's message."""
    with pytest.raises(StatusError) as refused:
        select("", "", text, unknown_field=lambda label: f"{label}?")

    assert (refused.value.code, refused.value.message) == (400, message)
