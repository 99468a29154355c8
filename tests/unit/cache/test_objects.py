"""Objects by kind: listers, callbacks, and what a change means for what was worked out before."""

from __future__ import annotations

from bayplan.cache.objects import Objects
from bayplan.model import Pod, PodGroup
from bayplan.testing import make_pod


def test_kind_is_wanted_once_somebody_asks() -> None:
    """By a lister or by a callback; then it is watched."""
    objects = Objects()
    assert not objects.is_asked_for(Pod)
    objects.on_change(Pod, lambda old, new: None)
    objects.lister(PodGroup)

    assert objects.is_asked_for(Pod)
    assert set(objects.kinds) == {Pod, PodGroup}


def test_pods_do_not_outdate_what_was_worked_out() -> None:
    """They come and go all the time; any other object does outdate it."""
    objects = Objects()
    before = objects.generation
    objects.set(make_pod("p"))
    objects.remove(make_pod("p"))
    assert objects.generation == before

    objects.set(PodGroup())
    assert objects.generation != before


def test_callbacks_hear_of_every_change() -> None:
    """The object before and after; what was not there is not removed."""
    objects, heard = Objects(), list[tuple[str, str]]()
    objects.on_change(
        Pod, lambda old, new: heard.append((old.node_name if old else "-", new.node_name if new else "-"))
    )
    objects.set(make_pod("p"))
    objects.set(make_pod("p", node_name="n"))
    objects.remove(make_pod("p"))
    objects.remove(make_pod("p"))

    assert heard == [("-", ""), ("", "n"), ("n", "-")]
