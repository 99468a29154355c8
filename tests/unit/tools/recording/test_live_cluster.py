"""Recorded objects are created anew, and the scheduler's log is read."""

from __future__ import annotations

from tools.recording.live_cluster import as_created, klog_time, parsed, priority_classes


def test_objects_are_created_without_what_the_api_server_fills_in() -> None:
    made = {"name": "v", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    volume = {
        "kind": "PersistentVolume",
        "metadata": {**made, "labels": {"a": "b"}},
        "spec": {"claimRef": {"name": "c", "uid": "u"}},
    }

    assert as_created(volume) == {
        "kind": "PersistentVolume",
        "metadata": {"name": "v", "labels": {"a": "b"}},
        "spec": {"claimRef": {"name": "c"}},
    }
    assert volume["metadata"]["uid"] == "u"  # type: ignore[index]


def test_lines_of_klog_are_read() -> None:
    line = (
        'I1118 08:20:23.144274   25776 schedule_one.go:123] "Plugin scored node for pod" pod="default/p" '
        'plugin="NodeResourcesFit" node="n01" score=97'
    )

    assert parsed(line) == {
        "time": "1118 08:20:23.144274",
        "text": "Plugin scored node for pod",
        "pod": "default/p",
        "plugin": "NodeResourcesFit",
        "node": "n01",
        "score": "97",
    }
    assert parsed('{"kind": "Pod"}') is None


def test_times_compare_with_those_of_klog() -> None:
    assert klog_time(1_800_000_000.25) < klog_time(1_800_000_000.5)
    assert len(klog_time(1_800_000_000.25)) == len("1118 08:20:23.144274")


def test_priority_classes_are_those_that_pods_name() -> None:
    spec = {"priorityClassName": "high", "priority": 10_000, "preemptionPolicy": "Never"}
    line = {"bound": [{"spec": {"priority": 0}}], "steps": [{"pod": {"spec": spec}}, {"pod": {"spec": spec}}]}

    (found,) = priority_classes(line)

    assert (found["metadata"]["name"], found["value"], found["preemptionPolicy"]) == ("high", 10_000, "Never")
