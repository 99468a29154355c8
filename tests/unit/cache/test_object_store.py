"""Stores of API objects: listers, callbacks, and the generation that invalidates cached results."""

from __future__ import annotations

from bayplan.cache.object_store import ObjectStores
from bayplan.model import Pod, PodGroup
from bayplan.testing import make_pod


def test_kind_is_requested_by_a_lister_or_a_callback() -> None:
    """Then it is watched."""
    objects = ObjectStores()
    assert not objects.is_requested(Pod)
    objects.on_change(Pod, lambda old, new: None)
    objects.lister(PodGroup)
    objects.custom("example.com/v1", "foos")

    assert objects.is_requested(Pod)
    assert set(objects.kinds) == {Pod, PodGroup}
    assert objects.custom_kinds == (("example.com/v1", "foos"),)


def test_pods_do_not_change_the_generation() -> None:
    """They change all the time; any other object invalidates cached results, custom ones included."""
    objects = ObjectStores()
    before = objects.generation
    objects.set(make_pod("p"))
    objects.remove(make_pod("p"))
    assert objects.generation == before

    objects.set(PodGroup())
    typed = objects.generation
    objects.custom("example.com/v1", "foos").set("", "foo", {})
    assert len({before, typed, objects.generation}) == 3


def test_objects_are_listed_by_namespace() -> None:
    """In the order in which they were added."""
    objects = ObjectStores()
    for name, namespace in (("b", "x"), ("c", "y"), ("a", "x")):
        objects.set(make_pod(name, namespace=namespace))
    lister = objects.lister(Pod)
    assert [pod.name for pod in lister.list()] == ["b", "c", "a"]
    assert [pod.name for pod in lister.list("x")] == ["b", "a"]
    assert lister.list("z") == []
    found = lister.get("c", "y")
    assert found is not None
    assert lister.get("c", "x") is None


def test_callbacks_are_called_on_every_change() -> None:
    """With the object before and after; removing an unknown object is no change."""
    objects, calls = ObjectStores(), list[tuple[str, str]]()
    objects.on_change(
        Pod, lambda old, new: calls.append((old.node_name if old else "-", new.node_name if new else "-"))
    )
    objects.set(make_pod("p"))
    objects.set(make_pod("p", node_name="n"))
    objects.remove(make_pod("p"))
    objects.remove(make_pod("p"))

    assert calls == [("-", ""), ("", "n"), ("n", "-")]


def test_callbacks_of_an_owner_are_replayed_and_removed() -> None:
    """A replaced plugin gets no more calls; the new one is called for the objects that are already there."""
    objects, calls = ObjectStores(), list[str]()
    objects.set(make_pod("p"))
    for owner in ("old", "new"):
        objects.on_change(Pod, lambda old, new, owner=owner: calls.append(owner), owner=owner)  # type: ignore[misc]
    objects.remove_callbacks("old")
    objects.replay_to("new")
    assert calls == ["new"]
    objects.set(make_pod("q"))
    assert calls == ["new", "new"]
