"""Events: their fields, their series, and what happens when the server cannot keep up."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.doubles import LoopClock

from bayplan.client.errors import ApiError, ClientError, NotFoundError, TransportError
from bayplan.client.event_series import Aggregator, Occurrence, cut_note, event_name
from bayplan.client.events import MAX_QUEUED, EventBroadcaster, Recorder
from bayplan.model import Node, Pod

POD = Pod.from_dict({"metadata": {"name": "a1", "namespace": "ns", "uid": "u1", "resourceVersion": "253"}})
NODE = Node.from_dict({"metadata": {"name": "m0", "uid": "n1"}})


class Sink:
    """Keeps what is written; fails by script."""

    def __init__(self, *failures: ClientError) -> None:
        self.failures = list(failures)
        self.written: list[tuple[str, str, Any]] = []

    async def create_event(self, namespace: str, event: Any) -> None:
        self._fail()
        self.written.append(("create", namespace, event))

    async def patch_event(self, namespace: str, name: str, patch: Any) -> None:
        self._fail()
        self.written.append(("patch", name, patch))

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


def broadcaster_to(sink: Sink) -> tuple[EventBroadcaster, Recorder]:
    broadcaster = EventBroadcaster(sink, LoopClock(), rng=lambda: 0.0)
    return broadcaster, broadcaster.recorder("default-scheduler")


def fail(recorder: Recorder, pod: Pod = POD, note: str = "no") -> None:
    recorder.event(pod, kind="Warning", reason="FailedScheduling", action="Scheduling", note=note)


# --- fields -----------------------------------------------------------------------------------------------


@given(st.text(alphabet="aé€😀", max_size=1500))
def test_notes_are_cut_between_characters(note: str) -> None:
    cut = cut_note(note)
    if len(note.encode()) <= 1024:
        assert cut == note
    else:
        assert len(cut.encode()) <= 1024
        assert cut.endswith(" ...")
        assert note.startswith(cut.removesuffix(" ..."))


def test_plain_notes_are_cut_as_upstream() -> None:
    assert cut_note("x" * 1024) == "x" * 1024
    assert cut_note("x" * 1025) == "x" * 1020 + " ..."


def test_names_are_valid_whatever_the_object_is_called() -> None:
    assert event_name("a1", 0x18E8547C25504060) == "a1.18e8547c25504060"
    assert len(event_name("a" * 253, 255)) == 36


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_event_has_upstreams_fields() -> None:
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    recorder.event(POD, kind="Normal", reason="Scheduled", action="Binding", note="ok", related=NODE)
    recorder.event(NODE, kind="Normal", reason="R", action="A", note="about a node")
    await broadcaster.stop()
    (_, namespace, event), (_, node_namespace, _) = sink.written
    assert (namespace, node_namespace) == ("ns", "default")
    assert event.pop("metadata")["name"].startswith("a1.")
    assert event.pop("eventTime").endswith("Z")
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "reportingController": "default-scheduler",
        "reportingInstance": f"default-scheduler-{socket.gethostname()}",
        "action": "Binding",
        "reason": "Scheduled",
        "regarding": {
            "kind": "Pod",
            "namespace": "ns",
            "name": "a1",
            "uid": "u1",
            "apiVersion": "v1",
            "resourceVersion": "253",
        },
        "related": {"kind": "Node", "name": "m0", "uid": "n1", "apiVersion": "v1"},
        "note": "ok",
        "type": "Normal",
    }


def test_other_types_are_refused() -> None:
    recorder = EventBroadcaster(Sink(), LoopClock()).recorder("s")
    with pytest.raises(ValueError, match="Normal or Warning"):
        recorder.event(POD, kind="Error", reason="R", action="A", note="")


# --- series -----------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_equal_events_become_a_series() -> None:
    """The second is a patch, the third only counts; the end of the series is written, with the count."""
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    for note in ("first", "second", "third"):
        fail(recorder, note=note)
        await asyncio.sleep(1)
    assert [(verb, body.get("series", {}).get("count")) for verb, _, body in sink.written] == [
        ("create", None),
        ("patch", 2),
    ]
    await asyncio.sleep(800)
    assert [body["series"]["count"] for _, _, body in sink.written[2:]] == [3]
    fail(recorder)
    await asyncio.sleep(1)
    assert sink.written[-1][0] == "create"  # a new one, the series is over
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_other_version_of_the_pod_is_another_event() -> None:
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    fail(recorder, Pod.from_dict({"metadata": {**POD.raw["metadata"], "resourceVersion": "254"}}))
    await broadcaster.stop()
    assert [verb for verb, _, _ in sink.written] == ["create", "create"]
    assert len({event["metadata"]["name"] for _, _, event in sink.written}) == 2


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_long_series_are_refreshed() -> None:
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    for _ in range(40):
        fail(recorder)
        await asyncio.sleep(60)
    await broadcaster.stop()
    counts = [body["series"]["count"] for verb, _, body in sink.written if verb == "patch"]
    assert counts[0] == 2
    assert len(counts) == 2
    assert 29 <= counts[1] <= 37


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_series_of_an_event_that_is_gone_is_created() -> None:
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    await asyncio.sleep(1)
    sink.failures = [NotFoundError(404)]
    fail(recorder)
    await broadcaster.stop()
    verb, _, event = sink.written[-1]
    assert (verb, event["series"]["count"], event["note"]) == ("create", 2, "no")


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.client.event_series.MAX_REMEMBERED", 3)
    aggregator = Aggregator()
    for i in range(5):
        aggregator.add(i, Occurrence({}, 0.0))
    assert len(aggregator) == 3
    assert aggregator.known(0) is None


# --- bad days ---------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_full_queue_drops_and_counts() -> None:
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    for i in range(MAX_QUEUED + 5):
        fail(recorder, Pod.from_dict({"metadata": {"name": f"p{i}", "namespace": "ns"}}))
    assert broadcaster.dropped == 5
    broadcaster.start()
    await broadcaster.stop()
    assert len(sink.written) == MAX_QUEUED


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_unreachable_server_is_waited_for() -> None:
    sink = Sink(*[TransportError("refused", sent=False)] * 3)
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    await asyncio.sleep(29)
    assert sink.written == []
    await asyncio.sleep(2)
    assert len(sink.written) == 1
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_refused_event_is_given_up() -> None:
    sink = Sink(ApiError(403))
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    await asyncio.sleep(100)
    assert sink.written == []
    await broadcaster.stop()
