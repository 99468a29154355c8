"""Pod groups: who belongs to which, who has a place, and what is forgotten when."""

from __future__ import annotations

import msgspec
import pytest
from tests.unit.plugins.gangs.support import LABEL, make_group, make_member

from bayplan.cache.cache import on_node
from bayplan.cache.object_store import ObjectStores
from bayplan.core.background_work import NoBackground
from bayplan.core.plugin_scope import PluginInformers, PluginScope
from bayplan.model import Pod
from bayplan.plugins.gangs._pod_groups import ExpiringSet, PodGroupTracker, group_key
from bayplan.testing import VirtualClock, make_pod


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def objects() -> ObjectStores:
    return ObjectStores()


@pytest.fixture
def groups(objects: ObjectStores, clock: VirtualClock) -> PodGroupTracker:
    scope = PluginScope("Coscheduling", objects, NoBackground())
    return PodGroupTracker(PluginInformers(objects, scope), clock)


def test_pod_names_its_group_by_label() -> None:
    """The group is in the pod's namespace; an empty label names none."""
    assert group_key(make_member("p", "g", namespace="team")) == "team/g"
    assert group_key(make_pod("p")) == group_key(make_pod("p", labels={LABEL: ""})) == ""


def test_roll_follows_the_watch(groups: PodGroupTracker, objects: ObjectStores) -> None:
    """Pods come, move to another group, lose their gates and go."""
    pod = make_member("p", "g", spec={"schedulingGates": [{"name": "wait"}]})
    objects.set(pod)
    assert (len(groups.members("default/g")), groups.members("default/g").n_gated) == (1, 1)

    objects.set(make_member("p", "g"))
    assert (len(groups.members("default/g")), groups.members("default/g").n_gated) == (1, 0)

    objects.set(make_member("p", "other"))
    assert (len(groups.members("default/g")), len(groups.members("default/other"))) == (0, 1)

    objects.remove(make_member("p", "other"))
    assert len(groups.members("default/other")) == 0


@pytest.mark.parametrize(("node_name", "count"), [("", 0), ("n", 1)], ids=["waiting", "on a node"])
def test_pod_on_its_way_out_counts_while_it_has_a_node(
    groups: PodGroupTracker, objects: ObjectStores, node_name: str, count: int
) -> None:
    """One that waits is never bound any more, however long its finalizers keep it."""
    pod = make_member("p", "g", node_name=node_name)
    objects.set(pod)
    metadata = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    objects.set(msgspec.structs.replace(pod, metadata=metadata))

    assert len(groups.members("default/g")) == len(groups.placed("default/g")) == count


def test_places_come_from_the_cycle_and_from_the_watch(groups: PodGroupTracker, objects: ObjectStores) -> None:
    """A pod that is assumed and then seen bound is counted once, whoever bound it."""
    first, second = make_member("a", "g"), make_member("b", "g")
    objects.set(first)
    objects.set(second)
    assert groups.place(on_node(first, "n")) == 1
    objects.set(on_node(first, "n"))
    objects.set(on_node(second, "n"))
    assert set(groups.placed("default/g")) == {"a", "b"}

    objects.remove(on_node(first, "n"))
    assert set(groups.placed("default/g")) == {"b"}


def test_change_of_a_waiting_pod_leaves_its_place(groups: PodGroupTracker, objects: ObjectStores) -> None:
    """The watch does not know yet where an assumed pod will be."""
    pod = make_member("a", "g")
    objects.set(pod)
    groups.place(on_node(pod, "n"))
    objects.set(_touched(pod))

    assert set(groups.placed("default/g")) == {"a"}


@pytest.mark.parametrize(
    ("is_bound", "left"), [(True, {"a"}), (False, set())], ids=["bound after all", "not bound"]
)
def test_place_is_given_back_unless_the_pod_has_it(
    groups: PodGroupTracker, objects: ObjectStores, is_bound: bool, left: set[str]
) -> None:
    """A bind that was reported as failed may have happened."""
    pod = make_member("a", "g")
    objects.set(on_node(pod, "n") if is_bound else pod)
    groups.place(on_node(pod, "n"))
    groups.displace(on_node(pod, "n"))

    assert set(groups.placed("default/g")) == left


def test_failure_moves_a_group_back(groups: PodGroupTracker, objects: ObjectStores, clock: VirtualClock) -> None:
    """Its age counts from the failure on, until it succeeds or is deleted."""
    group = make_group("g", 1, age=100)
    objects.set(group)
    pod = make_member("a", "g")
    created = groups.since(pod, 1.0)
    assert created != 1.0
    groups.note_failure("default/g")
    assert groups.since(pod, 1.0) == clock.now()
    groups.clear_failure("default/g")
    assert groups.since(pod, 1.0) == created

    groups.note_failure("default/g")
    objects.remove(group)
    assert groups.since(pod, 1.0) == 1.0
    assert groups.since(make_pod("plain"), 2.0) == 2.0


def test_names_are_remembered_for_a_while(clock: VirtualClock) -> None:
    """A name that is added again keeps the time it had."""
    names = ExpiringSet(clock)
    names.add("g", 10)
    clock.advance(8)
    names.add("g", 10)
    assert "g" in names
    clock.advance(3)
    assert "g" not in names
    names.add("g", 10)
    names.discard("g")
    assert "g" not in names


def _touched(pod: Pod) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, annotations={"seen": "true"})
    return msgspec.structs.replace(pod, metadata=metadata)
