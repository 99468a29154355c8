"""What a plugin has asked for: callbacks, indexes and background work, and that all of it ends with the plugin."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.cache.object_store import ObjectStores
from bayplan.core.background_work import BackgroundWork, NoBackground
from bayplan.core.plugin_scope import PluginInformers, PluginScope
from bayplan.framework import PluginError
from bayplan.model import ConfigMap, Pod
from bayplan.testing import make_pod


class Runner(NoBackground):
    """Notes what is started."""

    def __init__(self) -> None:
        self.started: list[BackgroundWork] = []

    def start(self, work: BackgroundWork) -> None:
        self.started.append(work)


@pytest.fixture
def objects() -> ObjectStores:
    return ObjectStores()


@pytest.fixture
def scope(objects: ObjectStores) -> PluginScope:
    return PluginScope("Rule", objects, Runner())


@pytest.fixture
def informers(objects: ObjectStores, scope: PluginScope) -> PluginInformers:
    return PluginInformers(objects, scope)


def config_map(name: str, team: str) -> ConfigMap:
    return ConfigMap.from_dict({"metadata": {"name": name, "namespace": "ci", "labels": {"team": team}}})


def test_a_part_of_a_kind_is_a_store_of_its_own(objects: ObjectStores, informers: PluginInformers) -> None:
    """Two plugins that ask for the same share it."""
    part = informers.lister(ConfigMap, labels="team=blue")
    assert part is informers.lister(ConfigMap, labels="team=blue")
    assert part is not informers.lister(ConfigMap)
    assert [str(each) for each in objects.selections] == ["configmaps.v1 labels=team=blue"]
    assert informers.lister("foos.v1.example.com") is informers.custom("example.com/v1", "foos")


def test_callbacks_end_with_the_scope(
    objects: ObjectStores, informers: PluginInformers, scope: PluginScope
) -> None:
    heard: list[str] = []
    informers.on_change(Pod, lambda old, new: heard.append((new or old).name))
    objects.set(make_pod("p"))
    scope.end()
    objects.set(make_pod("q"))
    assert heard == ["p"]


def test_a_late_callback_is_told_what_is_there(
    objects: ObjectStores, informers: PluginInformers, scope: PluginScope
) -> None:
    """Once the plugin is in use; before, it is told when it is adopted."""
    objects.set(make_pod("p"))
    early: list[str] = []
    informers.on_change(Pod, lambda old, new: early.append(new.name))
    scope.is_adopted = True
    late: list[str] = []
    informers.on_change(Pod, lambda old, new: late.append(new.name))
    assert (early, late) == ([], ["p"])


def test_an_index_follows_the_objects(objects: ObjectStores, informers: PluginInformers) -> None:
    teams = informers.index(ConfigMap, lambda each: each.labels.get("team"))
    for name, team in (("a", "blue"), ("b", "red"), ("c", "blue")):
        objects.set(config_map(name, team))
    assert [each.name for each in teams.get("blue")] == ["a", "c"]

    objects.set(config_map("a", "red"))
    objects.remove(config_map("c", "blue"))
    assert ([each.name for each in teams.get("red")], teams.values()) == (["b", "a"], ["red"])


def test_an_index_has_many_values_or_none(objects: ObjectStores, informers: PluginInformers) -> None:
    letters = informers.index("foos.v1.example.com", lambda each: each["spec"].get("letters"))
    store = objects.custom("example.com/v1", "foos")
    store.set("", "f", {"metadata": {"name": "f"}, "spec": {"letters": ["a", "b"]}})
    store.set("", "g", {"metadata": {"name": "g"}, "spec": {}})
    assert set(letters.values()) == {"a", "b"}


def test_an_index_that_fails_is_named_in_the_log(
    objects: ObjectStores, informers: PluginInformers, caplog: pytest.LogCaptureFixture
) -> None:
    informers.index(ConfigMap, lambda each: each.labels["colour"])
    objects.set(config_map("a", "blue"))
    assert "Callback raised: plugin=Rule object=ConfigMap ci/a" in caplog.text


async def _wait(old: Any, new: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("callback", "sentence"),
    [
        (None, r"needs a function callback\(old, new\), not None"),
        (lambda new: None, r"calls callback\(old, new\), but this one takes \(new\)"),
        (_wait, "needs a plain function .*, not an async one"),
    ],
)
def test_a_wrong_callback_is_refused(informers: PluginInformers, callback: Any, sentence: str) -> None:
    with pytest.raises(PluginError, match=sentence):
        informers.on_change(ConfigMap, callback)


async def _work() -> None:
    return None


def test_work_ends_with_the_scope(scope: PluginScope) -> None:
    """What no driver has started is thrown away; a plugin that is replaced starts nothing any more."""
    work = scope.spawn(_work())
    scope.end()
    assert work.is_done
    assert scope.spawn(_work, name="late").is_done


def test_work_has_a_name(scope: PluginScope) -> None:
    assert [scope.spawn(_work).name, scope.spawn(_work, name="poll").name] == ["_work", "poll"]
    scope.end()


@pytest.mark.parametrize("wrong", [None, lambda: None, 5])
def test_what_cannot_be_awaited_is_refused(scope: PluginScope, wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"handle.spawn needs a coroutine, such as self._poll\(\)"):
        scope.spawn(wrong)
