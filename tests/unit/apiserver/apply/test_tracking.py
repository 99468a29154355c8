"""Ownership that is recorded now and computed later equals ownership that is computed at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.apply import OwnershipTracker, track_update
from bayplan.apiserver.codec import Codecs
from bayplan.apiserver.registry.api_resources import ApiResource
from bayplan.apiserver.registry.builtin_resources import built_in
from bayplan.apiserver.storage.versioned_store import Key

CODECS = Codecs()
KEY = Key("pods", "default", "p")
NOW = "2026-01-01T00:00:00Z"


def resource() -> ApiResource:
    found = built_in().of_kind("v1", "Pod")
    assert found is not None
    return found


def ownership() -> OwnershipTracker:
    return OwnershipTracker(CODECS.of, lambda: NOW)


def pod(**parts: Any) -> Any:
    obj = CODECS.of(resource()).decode({"spec": {"containers": [{"name": "c"}]}, **parts}).obj
    obj["metadata"].update(name="p", namespace="default", uid="u")
    return obj


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)
CONDITIONS = st.lists(st.sampled_from(["Ready", "PodScheduled"]), unique=True)
WRITES = st.lists(st.tuples(st.sampled_from(["m", "n"]), LABELS, CONDITIONS), max_size=24)


@given(labels=LABELS, writes=WRITES)
def test_recorded_writes_give_the_same_owners(labels: dict[str, str], writes: list[Any]) -> None:
    """For any creation and writes: the same managedFields as if they were kept in the object."""
    tracker = ownership()
    live = pod(metadata={"labels": labels})
    tracker.begin(KEY, tracker.creation(resource(), live, "creator"))
    tracked = tracker.shown(KEY, live)
    tracker.begin(KEY, tracker.creation(resource(), live, "creator"))
    for manager, new_labels, conditions in writes:
        new = pod(metadata={"labels": new_labels})
        new["status"] = {"conditions": [{"type": type_, "status": "True"} for type_ in conditions]}
        for subresource in ("", "status"):
            change = tracker.change(resource(), KEY, live, new, manager, subresource)
            tracker.record(KEY, change)
            noted = copy.deepcopy(new)
            track_update(tracker.target(resource(), subresource), tracked, noted, manager, NOW)
            tracked = {**noted, "metadata": noted["metadata"]}
            live = new
    assert tracker.shown(KEY, live)["metadata"]["managedFields"] == tracked["metadata"]["managedFields"]


@pytest.mark.parametrize("subresource", ["binding", "eviction"])
def test_binding_owns_nothing(subresource: str) -> None:
    """Writes through binding and eviction change no ownership, as in kube-apiserver."""
    tracker = ownership()
    live = pod()
    tracker.begin(KEY, tracker.creation(resource(), live, "creator"))
    bound = copy.deepcopy(live)
    bound["spec"]["nodeName"] = "n"
    assert tracker.change(resource(), KEY, live, bound, "scheduler", subresource) is None


def test_a_repeated_change_is_recorded_once() -> None:
    """A repeated change only moves the time."""
    times = iter([NOW, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"])
    tracker = OwnershipTracker(CODECS.of, lambda: next(times))
    live = pod(metadata={"labels": {"a": "0"}})
    tracker.begin(KEY, tracker.creation(resource(), live, "creator"))
    for value in ("1", "2"):
        new = pod(metadata={"labels": {"a": value}})
        tracker.record(KEY, tracker.change(resource(), KEY, live, new, "m"))
        live = new
    owners = {entry["manager"]: entry["time"] for entry in tracker.shown(KEY, live)["metadata"]["managedFields"]}
    assert owners == {"creator": NOW, "m": "2026-01-01T00:00:02Z"}


def test_unrecorded_objects_have_no_owners() -> None:
    """An object whose creation was not recorded is shown unchanged, and writes to it are not recorded."""
    tracker = ownership()
    live = pod()
    assert tracker.change(resource(), KEY, live, pod(metadata={"labels": {"a": "b"}}), "m") is None
    assert tracker.shown(KEY, live) is live


def test_deleted_objects_are_forgotten() -> None:
    """The next object of that name starts over."""
    tracker = ownership()
    tracker.begin(KEY, tracker.creation(resource(), pod(), "creator"))
    tracker.forget(KEY)
    assert not tracker.has_records(KEY)
