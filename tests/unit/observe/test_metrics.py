"""The metrics have the names, types, labels, buckets and stability that kube-scheduler 1.36.4 was seen with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bayplan.observe.instruments import Histogram
from bayplan.observe.metrics import AnyFamily, ProcessFamilies, SchedulerFamilies
from bayplan.release import SUPPORTED, Release, release_named

SURFACE = json.loads((Path(__file__).parents[2] / "parity" / "golden" / "surface-v1.36.4.json").read_text())
FAMILIES: dict[str, AnyFamily] = {
    family.name: family
    for families in (SchedulerFamilies, ProcessFamilies)
    for family in families(release_named("1.36")).all()
}
#: Of opportunistic batching, which cached results make unnecessary here.
NOT_OURS = {
    "scheduler_batch_attempts_total",
    "scheduler_batch_cache_flushed_total",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
}
#: prometheus-client's own collector has it.
COLLECTED = {"process_start_time_seconds"}


@pytest.mark.parametrize("seen", SURFACE["metrics"], ids=lambda seen: str(seen["name"]))
def test_metric_is_as_recorded(seen: dict[str, Any]) -> None:
    """Stable and beta ones must be there; of the alpha ones those that have a meaning here."""
    if seen["name"] in COLLECTED:
        return
    if seen["name"] in NOT_OURS:
        assert seen["stability"] == "ALPHA"
        return
    family = FAMILIES[seen["name"]]

    assert family.kind == seen["type"]
    assert set(family.label_names) == set(seen["labels"])
    assert family.text.startswith(f"[{seen['stability']}] ")
    if isinstance(family, Histogram):
        assert [float(bound) for bound in seen["buckets"][:-1]] == list(family.bounds)


def test_newer_release_counts_entities() -> None:
    """As a kube-scheduler 1.37.1 exposes them: two metrics more, one hidden, two that became beta."""
    older, newer = ({each.name: each for each in SchedulerFamilies(one).all()} for one in SUPPORTED.values())

    assert newer.keys() - older.keys() == {"scheduler_queued_entities", "scheduler_queue_incoming_entities_total"}
    assert older.keys() - newer.keys() == {"scheduler_preemption_goroutines_duration_seconds"}
    assert set(newer["scheduler_queued_entities"].label_names) == {"queue", "type"}
    matured = {
        name
        for name in older.keys() & newer.keys()
        if older[name].text.startswith("[ALPHA] ") and newer[name].text.startswith("[BETA] ")
    }
    assert matured == {
        "scheduler_plugin_execution_duration_seconds",
        "scheduler_scheduling_algorithm_duration_seconds",
    }


def test_texts_follow_the_release() -> None:
    """Since 1.37 they speak of entities and pod groups."""
    older, newer = ({each.name: each.text for each in SchedulerFamilies(one).all()} for one in SUPPORTED.values())

    both = older.keys() & newer.keys()
    assert {name for name in both if older[name].partition("] ")[2] != newer[name].partition("] ")[2]} == {
        "scheduler_pending_pods",
        "scheduler_pod_scheduled_after_flush_total",
        "scheduler_preemption_victims",
    }
    assert older["scheduler_preemption_victims"].endswith("Number of selected preemption victims")
    assert newer["scheduler_preemption_victims"].endswith("victims for preemption initiated by a single pod")
    assert "unschedulableEntities" in newer["scheduler_pending_pods"]
    assert newer["scheduler_pending_pods"].endswith("'pending' means number of pods in pendingPodGroupPods.")


def test_newer_release_exposes_informers() -> None:
    older, newer = ({each.name for each in ProcessFamilies(one).all()} for one in SUPPORTED.values())

    assert newer - older == {"informer_store_resource_version"}
    assert older < newer


@pytest.mark.parametrize("release", SUPPORTED.values(), ids=str)
def test_attributes_are_all_there_is(release: Release) -> None:
    """Every family is named once, and begins with its subsystem: the scheduler's, or ours."""
    names = [family.name for family in SchedulerFamilies(release).all()]

    assert len(set(names)) == len(names)
    assert all(name.startswith(("scheduler_", "bayplan_")) for name in names)
