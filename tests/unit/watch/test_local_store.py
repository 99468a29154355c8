"""The local store: objects by key, and callbacks on their changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.watch.doubles import node

from bayplan.model import Node, ObjectError, Pod
from bayplan.watch.local_store import LIVE_PODS, LocalStore, custom_resource, resource_of

Change = tuple[str, str]


class Told:
    """A store of nodes, and the changes that a callback was called with."""

    def __init__(self) -> None:
        self.store = LocalStore(resource_of(Node))
        self.changes: list[Change] = []
        self.store.subscribe(self._changed)

    def _changed(self, old: Node | None, new: Node | None) -> None:
        self.changes.append((old.resource_version if old else "", new.resource_version if new else ""))

    def update(self, value: dict[str, Any], *, only_if_changed: bool = False) -> tuple[str, str, str] | None:
        return self.store.update(msgspec.json.encode(value), only_if_changed=only_if_changed)


@pytest.fixture
def told() -> Told:
    return Told()


def test_creation_update_and_deletion(told: Told) -> None:
    assert told.update(node("a", 1, uid="u")) == ("a", "u", "1")
    told.update(node("a", 2, uid="u"))
    told.store.remove("a")
    told.store.remove("a")
    assert told.changes == [("", "1"), ("1", "2"), ("2", "")]
    assert told.store.objects == {}


def test_unchanged_object_of_a_list_is_no_change(told: Told) -> None:
    told.update(node("a", 1))
    told.update(node("a", 1), only_if_changed=True)
    told.update(node("a", 2), only_if_changed=True)
    assert told.changes == [("", "1"), ("1", "2")]


def test_another_uid_is_another_object(told: Told) -> None:
    """It was deleted and created again while nothing was watching."""
    told.update(node("a", 1, uid="first"))
    told.update(node("a", 2, uid="second"))
    assert told.changes == [("", "1"), ("1", ""), ("", "2")]


def test_only_some_are_retained(told: Told) -> None:
    for name in "abc":
        told.update(node(name, 1))
    told.store.retain({"b"})
    assert list(told.store.objects) == ["b"]
    assert told.changes[3:] == [("1", ""), ("1", "")]


def test_unreadable_object_is_left_out(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    assert told.store.update(b'{"metadata": {"name": 7}}') is None
    assert told.changes == []
    assert "Left out an object that cannot be read: Node: metadata.name" in caplog.text


def test_late_callback_gets_what_is_there(told: Told) -> None:
    told.update(node("a", 1))
    names: list[str] = []
    told.store.subscribe(lambda old, new: names.append(new.name if new else ""))
    assert names == ["a"]


def test_failing_callback_does_not_stop_the_others(told: Told, caplog: pytest.LogCaptureFixture) -> None:
    def broken(old: Node | None, new: Node | None) -> None:
        raise RuntimeError("broken")

    told.store.subscribe(broken)
    names: list[str] = []
    told.store.subscribe(lambda old, new: names.append(new.name if new else ""))
    told.update(node("a", 1))
    assert names == ["a"]
    assert "A callback on changes of Node failed" in caplog.text


def test_resource_of_a_kind() -> None:
    resource = resource_of(Pod, field_selector=LIVE_PODS)
    assert (resource.name, resource.path) == ("Pod", "/api/v1/pods")
    assert resource.query == {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}
    assert resource_of(Node).query == {}


def test_custom_resource_is_a_dictionary() -> None:
    resource = custom_resource("example.com/v1", "foos")
    value = {"metadata": {"name": "f", "namespace": "ns", "uid": "u", "resourceVersion": "3"}}
    assert resource.path == "/apis/example.com/v1/foos"
    assert resource.decode(msgspec.json.encode(value)) == value
    assert resource.identify(value) == ("ns/f", "u", "3")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"[]", "foos.example.com/v1: Expected `object`, got `array`"),
        (b'{"metadata": {}}', "foos.example.com/v1: metadata.name: is missing"),
    ],
)
def test_unreadable_custom_resource(data: bytes, text: str) -> None:
    with pytest.raises(ObjectError) as raised:
        custom_resource("example.com/v1", "foos").decode(data)
    assert str(raised.value) == text
