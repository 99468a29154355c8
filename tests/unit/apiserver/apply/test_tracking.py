"""Ownership noted now and worked out later is what it would be if it were worked out at once."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.apply import Ownership, track_update
from bayplan.apiserver.catalogue import built_in
from bayplan.apiserver.codec import Codecs
from bayplan.apiserver.resources import Resource
from bayplan.apiserver.store import Key

CODECS = Codecs()
KEY = Key("pods", "default", "p")
NOW = "2026-01-01T00:00:00Z"


def resource() -> Resource:
    found = built_in().of_kind("v1", "Pod")
    assert found is not None
    return found


def ownership() -> Ownership:
    return Ownership(CODECS.of, lambda: NOW)


def pod(**parts: Any) -> Any:
    obj = CODECS.of(resource()).decode({"spec": {"containers": [{"name": "c"}]}, **parts}).obj
    obj["metadata"].update(name="p", namespace="default", uid="u")
    return obj


LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)
CONDITIONS = st.lists(st.sampled_from(["Ready", "PodScheduled"]), unique=True)
WRITES = st.lists(st.tuples(st.sampled_from(["m", "n"]), LABELS, CONDITIONS), max_size=24)


@given(labels=LABELS, writes=WRITES)
def test_notes_give_what_tracking_gives(labels: dict[str, str], writes: list[Any]) -> None:
    """For any creation and writes: the managedFields that keeping them in the object would give."""
    notes = ownership()
    live = pod(metadata={"labels": labels})
    notes.begin(KEY, notes.creation(resource(), live, "creator"))
    tracked = notes.shown(KEY, live)
    notes.begin(KEY, notes.creation(resource(), live, "creator"))
    for manager, new_labels, conditions in writes:
        new = pod(metadata={"labels": new_labels})
        new["status"] = {"conditions": [{"type": type_, "status": "True"} for type_ in conditions]}
        for subresource in ("", "status"):
            step = notes.step(resource(), KEY, live, new, manager, subresource)
            notes.record(KEY, step)
            noted = copy.deepcopy(new)
            track_update(notes.view(resource(), subresource), tracked, noted, manager, NOW)
            tracked = {**noted, "metadata": noted["metadata"]}
            live = new
    assert notes.shown(KEY, live)["metadata"]["managedFields"] == tracked["metadata"]["managedFields"]


@pytest.mark.parametrize("subresource", ["binding", "eviction"])
def test_binding_owns_nothing(subresource: str) -> None:
    """kube-apiserver makes nobody the owner of what binding and eviction write."""
    notes = ownership()
    live = pod()
    notes.begin(KEY, notes.creation(resource(), live, "creator"))
    bound = copy.deepcopy(live)
    bound["spec"]["nodeName"] = "n"
    assert notes.step(resource(), KEY, live, bound, "scheduler", subresource) is None


def test_same_change_again_is_one_note() -> None:
    """A change that repeats moves the time and adds nothing."""
    times = iter([NOW, "2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"])
    notes = Ownership(CODECS.of, lambda: next(times))
    live = pod(metadata={"labels": {"a": "0"}})
    notes.begin(KEY, notes.creation(resource(), live, "creator"))
    for value in ("1", "2"):
        new = pod(metadata={"labels": {"a": value}})
        notes.record(KEY, notes.step(resource(), KEY, live, new, "m"))
        live = new
    owners = {entry["manager"]: entry["time"] for entry in notes.shown(KEY, live)["metadata"]["managedFields"]}
    assert owners == {"creator": NOW, "m": "2026-01-01T00:00:02Z"}


def test_objects_that_were_there_have_no_owners() -> None:
    """Without notes of its creation an object is shown as it is, and writes leave no notes."""
    notes = ownership()
    live = pod()
    assert notes.step(resource(), KEY, live, pod(metadata={"labels": {"a": "b"}}), "m") is None
    assert notes.shown(KEY, live) is live


def test_deleted_objects_are_forgotten() -> None:
    """The next object of the name begins anew."""
    notes = ownership()
    notes.begin(KEY, notes.creation(resource(), pod(), "creator"))
    notes.forget(KEY)
    assert not notes.has_notes(KEY)
