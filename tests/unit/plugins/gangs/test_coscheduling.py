"""Coscheduling: the pods of a group get places together, or none of them does."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.unit.plugins.gangs.support import MakeGangs, closing_gangs, gang_configuration, make_group, make_member
from tests.unit.plugins.volumes.storage import make_claim, make_class, make_volume

from bayplan.framework import Hint, Status
from bayplan.model import Pod, PodGroup
from bayplan.plugins.gangs.coscheduling import Coscheduling
from bayplan.scheduler import default_registry
from bayplan.shell.played_cluster import Timing
from bayplan.testing import Harness, make_node, make_pod


@pytest.fixture
def make_gangs() -> Iterator[MakeGangs]:
    with closing_gangs() as make:
        yield make


def members(group: str, count: int, *, cpu: str = "1") -> list[Pod]:
    return [make_member(f"{group}-{i}", group, cpu=cpu) for i in range(count)]


def test_extension_points_are_those_of_upstream() -> None:
    """QueueSort, PreFilter, PostFilter, Reserve and Permit."""
    points = default_registry().get("Coscheduling").points

    assert list(points) == ["queueSort", "preFilter", "postFilter", "reserve", "permit"]


# --- together or not at all -----------------------------------------------------------------------


def test_gang_that_fits_is_placed(make_gangs: MakeGangs) -> None:
    """Members wait for each other and are bound together."""
    gangs = make_gangs({"a": 2, "b": 2})
    gangs.add(make_group("g", 3), *members("g", 3))
    gangs.run(1)

    assert gangs.bound == {"g": 3}
    assert gangs.waiting == []


def test_members_beyond_the_minimum_are_placed_one_by_one(make_gangs: MakeGangs) -> None:
    """Once minMember have a place, each further one that fits is bound."""
    gangs = make_gangs({"a": 4})
    gangs.add(make_group("g", 2), *members("g", 5))
    gangs.run(1)

    assert gangs.bound == {"g": 4}
    assert gangs.message("g-4").startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert "gets rejected" not in gangs.message("g-4")


def test_gang_that_does_not_fit_holds_nothing(make_gangs: MakeGangs) -> None:
    """The member that finds no node ends the waiting of the others, and pods of no group take the places."""
    gangs = make_gangs({"a": 2}, podGroupBackoffSeconds=60)
    gangs.add(make_group("g", 3), *members("g", 3))
    gangs.run(1)

    assert gangs.bound == {}
    assert gangs.waiting == []
    assert "0/1 nodes are available: 1 optimistic rejection in PostFilter." in gangs.messages["default/g-0"]
    assert gangs.messages["default/g-2"][0].endswith(
        "PodGroup default/g gets rejected due to Pod g-2 is unschedulable even after PostFilter"
    )

    gangs.add(make_pod("plain-0", cpu="1"), make_pod("plain-1", cpu="1"))
    gangs.run(1)
    assert gangs.bound == {"": 2}


def test_gang_is_placed_when_room_comes(make_gangs: MakeGangs) -> None:
    """A deletion makes the member that found no node try again, and it calls the others."""
    gangs = make_gangs({"a": 3})
    plain = make_pod("plain", cpu="1")
    gangs.add(plain)
    gangs.run(1)
    gangs.add(make_group("g", 3), *members("g", 3))
    gangs.run(1)
    assert gangs.bound == {"": 1}

    gangs.delete(plain)
    gangs.run(15)
    assert gangs.bound == {"g": 3}


def test_two_gangs_do_not_share_the_last_places(make_gangs: MakeGangs) -> None:
    """One of them has all it needs, the other nothing."""
    gangs = make_gangs({"a": 4}, podGroupBackoffSeconds=60)
    gangs.add(make_group("g", 3, age=20), make_group("h", 3, age=10), *members("g", 3), *members("h", 3))
    gangs.run(1)

    assert gangs.bound == {"g": 3}
    assert gangs.waiting == []


def test_gangs_of_two_namespaces_do_not_mix(make_gangs: MakeGangs) -> None:
    """A pod's group is the one in its own namespace."""
    gangs = make_gangs({"a": 4})
    gangs.add(make_group("g", 2), make_member("g-0", "g"), make_member("g-1", "g", namespace="other"))
    gangs.run(1)

    assert gangs.bound == {}
    assert "current pods number: 1, minMember of group: 2" in gangs.message("g-0")
    assert gangs.messages["other/g-1"] == ["0/1 nodes are available: 1 PodGroup not found."]


# --- waiting --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "of_group", "seconds"),
    [
        ({"permitWaitingTimeSeconds": 5}, {}, 5),
        ({"permitWaitingTimeSeconds": 5}, {"scheduleTimeoutSeconds": 2}, 2),
        ({"permitWaitingTimeSeconds": 5}, {"scheduleTimeoutSeconds": 0}, 5),
        ({"permitWaitingTimeSeconds": 0}, {}, 60),
        ({}, {}, 60),
    ],
    ids=["the argument", "the group's own", "0 in the group", "0 in the argument", "nothing said"],
)
def test_members_wait_until_their_time_is_up(
    make_gangs: MakeGangs, args: dict[str, int], of_group: dict[str, int], seconds: int
) -> None:
    """The first to wait is rejected for the timeout, the others with it."""
    gangs = make_gangs({"a": 2}, podGroupRejectPercentage=100, **args)
    gangs.add(make_group("g", 3, **of_group), *members("g", 3))
    gangs.run(seconds - 0.5)
    assert gangs.waiting == ["g-0", "g-1"]

    gangs.run(0.55)
    waited = "1m0s" if seconds == 60 else f"{seconds}s"
    assert gangs.message("g-0") == (
        f"0/1 nodes are available: 1 rejected due to timeout after waiting {waited} at plugin Coscheduling."
    )
    assert gangs.message("g-1") == "0/1 nodes are available: 1 rejection in Unreserve."


@pytest.mark.parametrize(
    ("percentage", "is_rejected"), [(0, True), (24, True), (25, False), (100, False)], ids=str
)
def test_small_gap_does_not_reject_the_group(make_gangs: MakeGangs, percentage: int, is_rejected: bool) -> None:
    """With 3 of 4 members placed a quarter is missing: the others go on waiting from 25 per cent on."""
    gangs = make_gangs({"a": 3}, podGroupRejectPercentage=percentage, podGroupBackoffSeconds=60)
    gangs.add(make_group("g", 4), *members("g", 4))
    gangs.run(1)

    assert gangs.waiting == ([] if is_rejected else ["g-0", "g-1", "g-2"])
    assert ("gets rejected" in gangs.messages["default/g-3"][0]) is is_rejected


def test_rejected_group_backs_off(make_gangs: MakeGangs) -> None:
    """For so long no member is tried; the group is remembered once, not anew with every member."""
    gangs = make_gangs({"a": 2}, podGroupBackoffSeconds=10)
    gangs.add(make_group("g", 3), *members("g", 3))
    gangs.run(1)
    refused = make_member("g-3", "g")
    gangs.add(refused)
    gangs.run(1)
    assert gangs.message("g-3").startswith("0/1 nodes are available: podGroup default/g failed recently.")

    gangs.delete(refused, *(gangs.pods[f"default/g-{i}"] for i in range(3)))
    gangs.run(10)
    gangs.add(*members("g", 3))
    gangs.run(0.3)
    assert "failed recently" not in gangs.message("g-0")


@pytest.mark.parametrize("lag_seconds", [0.0, 0.5], ids=["at once", "while others are tried"])
def test_group_is_not_stranded_by_slow_members(make_gangs: MakeGangs, lag_seconds: float) -> None:
    """However long members take to give their places back, the group is placed once there is room for it."""
    gangs = make_gangs({"a": 3}, timing=Timing(attempt_seconds=0.05, lag_seconds=lag_seconds))
    gangs.add(make_group("g", 4), *members("g", 5))
    gangs.run(20)
    assert gangs.bound == {}

    gangs.apply(None, make_node("b", cpu="1"))
    gangs.run(15)
    assert gangs.bound == {"g": 4}


def test_member_that_is_about_to_give_its_place_back_counts_no_more(make_gangs: MakeGangs) -> None:
    """One whose place was taken while it waited does not make the group whole, however long it takes to go."""
    slow = Timing(attempt_seconds=0.05, lag_seconds=5)
    gangs = make_gangs({"a": 2}, podGroupRejectPercentage=100, timing=slow)
    gangs.add(make_group("g", 3), *members("g", 3))
    gangs.run(1)
    assert gangs.waiting == ["g-0", "g-1"]

    gangs.take_place_of("g-0")
    gangs.apply(None, make_node("b", cpu="1"))
    gangs.run(0.5)
    assert gangs.bound == {}
    assert gangs.waiting == ["g-0", "g-1", "g-2"]

    gangs.run(120)
    assert gangs.bound == {"g": 3}


@pytest.mark.parametrize("lag_seconds", [0.0, 0.1], ids=["at once", "while others are tried"])
def test_group_that_does_not_fit_comes_to_rest(make_gangs: MakeGangs, lag_seconds: float) -> None:
    """Members behind the one that finds no node may call the group once more, and then it waits for news."""
    gangs = make_gangs({"a": 2}, timing=Timing(attempt_seconds=0.05, lag_seconds=lag_seconds))
    gangs.add(make_group("g", 4), make_group("h", 4), *members("g", 6), *members("h", 6))
    gangs.run(30)
    tried = gangs.attempts.total()
    gangs.run(60)

    assert gangs.bound == {}
    assert gangs.attempts.total() == tried
    assert any("podGroup default/g failed recently" in gangs.message(f"g-{i}") for i in range(6))


def test_group_at_rest_hears_of_room(make_gangs: MakeGangs) -> None:
    """A new node is news for the member that found none, and it calls the others, whoever came too late before."""
    gangs = make_gangs({"a": 2})
    gangs.add(make_group("g", 4), *members("g", 6))
    gangs.run(30)
    gangs.apply(None, make_node("b", cpu="2"))
    gangs.run(15)

    assert gangs.bound == {"g": 4}


def test_group_has_enough_without_the_one_that_does_not_fit(make_gangs: MakeGangs) -> None:
    """It ends the waiting of those before it; then one behind it calls them once more, and with that one they are
    enough."""
    gangs = make_gangs({"a": 4})
    gangs.add(make_group("g", 3), *members("g", 2), make_member("g-2", "g", cpu="9"), make_member("g-3", "g"))
    gangs.run(5)

    assert gangs.bound == {"g": 3}


def test_group_at_rest_hears_that_members_in_its_way_are_gone(make_gangs: MakeGangs) -> None:
    """Those that fit nowhere end both rounds. When they are deleted, the others have enough without them."""
    gangs = make_gangs({"a": 4})
    gangs.add(make_group("g", 3), *members("g", 3))
    gangs.add(*(make_member(f"g-{i}", "g", cpu="9") for i in ("00", "01", "11", "12")))
    gangs.run(30)
    assert gangs.bound == {}

    gangs.delete(*(gangs.pods[f"default/g-{i}"] for i in ("00", "01", "11", "12")))
    gangs.run(5)
    assert gangs.bound == {"g": 3}


def test_members_begin_anew_when_one_that_waits_is_deleted(make_gangs: MakeGangs) -> None:
    """The others give their places back because it goes, not because one finds no node: those who were called a
    second time do not come too late, and call once more."""
    gangs = make_gangs({"a": 4}, timing=Timing(attempt_seconds=0.5))
    gangs.add(make_group("g", 4), make_member("g-0", "g"), make_member("g-1", "g", cpu="9"))
    gangs.add(*(make_member(f"g-{i}", "g") for i in range(2, 6)))
    gangs.run(2)
    # g-1 has ended the first round, and g-2 has called for a second one.
    assert gangs.waiting == ["g-0", "g-2"]

    gangs.delete(gangs.pods["default/g-1"], gangs.pods["default/g-2"])
    gangs.run(5)
    assert gangs.bound == {"g": 4}


def test_member_refused_by_another_plugin_has_come(make_gangs: MakeGangs) -> None:
    """VolumeBinding refuses one that was called twice before Coscheduling is asked. When its claim is bound that
    is news, and it calls the others."""
    # PostFilter of the default plugins is not made for pods that were refused so early.
    post_filter = {"disabled": [{"name": "*"}], "enabled": [{"name": "Coscheduling"}]}
    gangs = make_gangs({"a": 4}, plugins={"postFilter": post_filter})
    claim = make_claim("data", storage_class="now")
    gangs.apply(None, make_class("now", mode="Immediate"))
    gangs.apply(None, claim)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    gangs.add(make_group("g", 4), make_member("g-0", "g"), make_member("g-1", "g", spec={"volumes": volumes}))
    gangs.add(make_member("g-2", "g"), make_member("g-3", "g"))
    gangs.run(5)
    assert "pod has unbound immediate PersistentVolumeClaims" in gangs.message("g-1")
    assert gangs.waiting == []

    gangs.apply(None, make_volume("v", phase="Bound", claim="data", claim_uid="claim-data", storage_class="now"))
    gangs.apply(claim, make_claim("data", volume="v", storage_class="now", version="2"))
    gangs.run(15)
    assert gangs.bound == {"g": 4}


# --- before anything is tried ---------------------------------------------------------------------


def test_too_few_members_are_not_tried(make_gangs: MakeGangs) -> None:
    """The message says how many there are and how many there should be."""
    gangs = make_gangs({"a": 4})
    gangs.add(make_group("g", 3), *members("g", 2))
    gangs.run(1)

    assert gangs.message("g-0") == (
        "0/1 nodes are available: pre-filter pod g-0 cannot find enough sibling pods, current pods number: 2, "
        "minMember of group: 3. preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling., "
        "PodGroup default/g gets rejected due to Pod g-0 is unschedulable even after PostFilter"
    )
    gangs.add(make_member("g-2", "g"))
    gangs.run(1)
    assert gangs.bound == {"g": 3}


def test_gated_members_do_not_count(make_gangs: MakeGangs) -> None:
    """As long as too many of them are held by gates, the others are not tried."""
    gangs = make_gangs({"a": 4})
    gate = {"schedulingGates": [{"name": "example.com/wait"}]}
    gangs.add(make_group("g", 3), *members("g", 2), make_member("g-2", "g", spec=gate))
    gangs.run(1)

    assert "pre-filter pod g-0 cannot proceed due to gated pods in the same PodGroup" in gangs.message("g-0")


def test_cluster_must_have_room_for_the_whole_group(make_gangs: MakeGangs) -> None:
    """minResources are looked for in the cluster before the first member is tried."""
    gangs = make_gangs({"a": 2, "b": 2})
    gangs.add(make_group("g", 2, minResources={"cpu": "6"}), *members("g", 2))
    gangs.run(1)

    assert gangs.bound == {}
    assert "resource gap: map[cpu:{{2000 -3} {<nil>}  DecimalSI}]" in gangs.message("g-0")


# --- the order of the queue -----------------------------------------------------------------------


def test_members_follow_each_other(make_gangs: MakeGangs) -> None:
    """Priority first, then the age of the group or the pod, then the name."""
    gangs = make_gangs({"a": 20})
    gangs.add(
        make_group("young", 2, age=5),
        make_group("old", 2, age=50),
        make_pod("plain", cpu="1"),
        make_member("young-1", "young"),
        make_member("old-1", "old"),
        make_member("young-0", "young"),
        make_member("old-0", "old"),
        make_pod("urgent", cpu="1", priority=10),
    )
    gangs.run(2)

    names = ["urgent", "old-0", "old-1", "young-0", "young-1", "plain"]
    assert list(gangs.attempts) == [f"default/{name}" for name in names]


def test_group_that_failed_goes_behind_the_others(make_gangs: MakeGangs) -> None:
    """A group at the head of the queue that never fits does not keep the others from being tried."""
    gangs = make_gangs({"a": 3})
    gangs.add(make_group("big", 5, age=50), *members("big", 5))
    gangs.add(make_group("small", 2, age=5), *members("small", 2))
    gangs.run(20)

    assert gangs.bound == {"small": 2}


# --- bad input ------------------------------------------------------------------------------------


def test_pod_without_its_group_says_so(make_gangs: MakeGangs) -> None:
    """A group that does not exist holds up its own pods alone; once it exists they are tried."""
    gangs = make_gangs({"a": 4})
    gangs.add(*members("ghost", 2), make_pod("plain", cpu="1"))
    gangs.run(1)
    assert gangs.bound == {"": 1}
    assert gangs.message("ghost-0") == "0/1 nodes are available: 1 PodGroup not found."

    gangs.add(make_group("ghost", 2))
    gangs.run(15)
    assert gangs.bound == {"": 1, "ghost": 2}


def test_group_beyond_any_cluster_holds_nothing(make_gangs: MakeGangs) -> None:
    """minMember above all there is: a clear message, and the places stay free for others."""
    gangs = make_gangs({"a": 2})
    gangs.add(make_group("g", 1_000_000), *members("g", 2), make_pod("plain", cpu="2"))
    gangs.run(2)

    assert gangs.bound == {"": 1}
    assert "current pods number: 2, minMember of group: 1000000" in gangs.message("g-1")


def test_group_deleted_while_members_wait(make_gangs: MakeGangs) -> None:
    """They give their places back when their time is up, and nothing is remembered of them."""
    gangs = make_gangs({"a": 3}, permitWaitingTimeSeconds=5, podGroupRejectPercentage=100)
    group = make_group("g", 3)
    gangs.add(group, *members("g", 2), make_member("g-2", "g", cpu="2"))
    gangs.run(1)
    assert gangs.waiting == ["g-0", "g-1"]

    gangs.delete(group)
    gangs.run(6)
    assert gangs.waiting == []
    assert gangs.message("g-0").startswith("0/1 nodes are available: 1 ")

    # Were the old places still counted, two members would do for a group of three.
    gangs.add(make_group("g", 3))
    gangs.run(2)
    assert gangs.bound == {}


def test_minimum_lowered_while_members_are_refused(make_gangs: MakeGangs) -> None:
    """The change of the PodGroup makes them try again."""
    gangs = make_gangs({"a": 3})
    group = make_group("g", 5)
    gangs.add(group, *members("g", 3))
    gangs.run(1)
    assert gangs.bound == {}

    gangs.replace(group, make_group("g", 3))
    gangs.run(15)
    assert gangs.bound == {"g": 3}


def test_member_deleted_while_waiting(make_gangs: MakeGangs) -> None:
    """It is gone, and those that wait with it give their places back."""
    gangs = make_gangs({"a": 2, "b": 1}, permitWaitingTimeSeconds=600, podGroupRejectPercentage=100)
    gangs.add(make_group("g", 4), *members("g", 4))
    gangs.run(1)
    assert gangs.waiting == ["g-0", "g-1", "g-2"]

    gangs.delete(gangs.pods["default/g-0"])
    gangs.run(5)
    assert gangs.waiting == []
    assert "cannot find enough sibling pods" in gangs.message("g-3")


def test_group_that_does_not_fit_leaves_places_to_others(make_gangs: MakeGangs) -> None:
    """What it gives back is tried by those who come after it, not by the group first."""
    gangs = make_gangs({"a": 2})
    gangs.add(make_group("g", 4), *members("g", 4), *(make_pod(f"other-{i}", cpu="1") for i in range(2)))
    gangs.run(20)

    assert gangs.bound == {"": 2}


def test_bound_members_are_counted_after_a_restart(make_gangs: MakeGangs) -> None:
    """A scheduler that finds two of three members on nodes places the third at once."""
    gangs = make_gangs({"a": 3})
    bound = [make_member(f"g-{i}", "g", node_name="a") for i in range(2)]
    gangs.add(make_group("g", 3), *bound, make_member("g-2", "g"))
    gangs.run(1)

    assert gangs.bound == {"g": 3}


def test_bound_member_that_is_deleted_counts_no_more(make_gangs: MakeGangs) -> None:
    """Its successor waits for the group's minimum again."""
    gangs = make_gangs({"a": 3})
    bound = [make_member(f"g-{i}", "g", node_name="a") for i in range(2)]
    gangs.add(make_group("g", 3), *bound)
    gangs.delete(bound[0])
    gangs.add(make_member("g-2", "g"), make_member("g-3", "g", cpu="9"))
    gangs.run(1)

    assert gangs.bound == {"g": 1}


def test_pods_of_no_group_are_left_alone() -> None:
    """PreFilter has nothing to do for them, and no node is refused."""
    harness = Harness(
        nodes=[make_node("a")],
        configuration="""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {preFilter: {enabled: [{name: Coscheduling}]}}
""",
    )
    plugin = harness.profile().plugins.plugins["Coscheduling"]
    assert isinstance(plugin, Coscheduling)
    pod = make_pod("plain")

    nodes = harness.profile().handle.snapshot.nodes
    assert plugin.pre_filter(None, pod, nodes) == Status.skip()  # type: ignore[arg-type]
    assert harness.decide(pod).node_name == "a"


# --- for others -----------------------------------------------------------------------------------


def test_status_of_a_group_wakes_nobody() -> None:
    """A controller writes the status all the time; and what helps one group does not help another."""
    _, groups = Coscheduling.events_to_register
    pod, old = make_member("g-0", "g"), make_group("g", 2)
    running = PodGroup.from_dict({**old.raw, "status": {"phase": "Running"}})

    assert groups.hint is not None
    assert groups.hint(pod, old, running) is Hint.SKIP
    assert groups.hint(pod, old, make_group("g", 1)) is Hint.QUEUE
    assert groups.hint(pod, None, old) is Hint.QUEUE
    assert groups.hint(pod, None, make_group("h", 2)) is Hint.SKIP
    assert groups.hint(make_pod("alone"), None, old) is Hint.SKIP


def test_whom_a_member_would_have_to_wait_for() -> None:
    """As many as the group lacks, of those that request least; nobody when it is whole with this one."""
    bound = [make_member(f"bound-{i}", "g", node_name="a") for i in range(2)]
    first, *others = [make_member(f"g-{i}", "g", cpu=str(i)) for i in (4, 3, 2, 1)]
    alone, stray = make_pod("alone"), make_member("stray", "h")
    harness = Harness(nodes=[make_node("a")], configuration=json.dumps(gang_configuration()))
    for each in (make_group("g", 5), *bound, first, *others, alone, stray):
        harness.core.objects.set(each)
    evaluation = harness.profile().evaluation

    assert [pod.name for pod in evaluation.waits_for(first)] == ["g-1", "g-2"]
    assert [pod.name for pod in evaluation.waits_for(others[-1])] == ["g-2", "g-3"]
    harness.add(make_group("g", 3))
    assert evaluation.waits_for(first) == []
    assert evaluation.waits_for(alone) == []
    assert evaluation.waits_for(stray) == []
