"""What changes for a configuration between two releases."""

from __future__ import annotations

from bayplan.config.release_changes import release_changes
from bayplan.release import release_named
from bayplan.scheduler import default_registry

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
OLDER, NEWER = (default_registry(release=release_named(each)) for each in ("1.36", "1.37"))


def changes(text: str) -> list[str]:
    return release_changes(HEAD + text, source="a", older=OLDER, newer=NEWER)


def test_changed_plugins_arguments_and_gates_are_listed() -> None:
    """Of each profile, and those of the scheduler as a whole."""
    found = changes("")

    assert found[:4] == [
        "profile default-scheduler: preFilter: NodeName, NodeUnschedulable, TaintToleration added",
        "profile default-scheduler: filter: NodeName runs before NodeUnschedulable",
        "profile default-scheduler: podGroupPostFilter: DynamicResources, DefaultPreemption added",
        'profile default-scheduler: VolumeBinding: shape is [{"utilization": 0, "score": 10}, '
        '{"utilization": 100, "score": 0}], was not there',
    ]
    assert "feature gate StorageCapacityScoring: on, was off" in found
    assert "feature gate SchedulerQueueingHints: removed, it was on" in found


def test_what_a_profile_leaves_out_does_not_change() -> None:
    """Only what the configuration uses is told."""
    found = changes(
        "profiles:\n- plugins:\n    multiPoint:\n      disabled: [{name: '*'}]\n"
        "      enabled: [{name: PrioritySort}, {name: DefaultBinder}]\n"
    )

    assert [each for each in found if not each.startswith("feature gate ")] == []


def test_nothing_is_said_of_what_was_refused_before() -> None:
    """`config check` tells what is wrong with it."""
    assert changes("parallelism: -1\n") == []


def test_two_of_the_same_release_are_equal() -> None:
    assert release_changes(HEAD, source="a", older=NEWER, newer=NEWER) == []
