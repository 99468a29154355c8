"""Recording events: their fields, their series, priorities, and a server that cannot keep up."""

from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

import msgspec
import pytest
from tests.unit.client.doubles import LoopClock, ScriptedTransport

from bayplan.client import KubeClient
from bayplan.client.errors import (
    AccessError,
    ApiError,
    ClientError,
    NotFoundError,
    TransportError,
    api_error,
)
from bayplan.client.event_broadcaster import (
    GIVE_UP_SECONDS,
    MAX_DEFER_SECONDS,
    EventBroadcaster,
    EventCounts,
    Recorder,
    event_client,
)
from bayplan.model import Node, Pod

POD = Pod.from_dict({"metadata": {"name": "a1", "namespace": "ns", "uid": "u1", "resourceVersion": "253"}})
NODE = Node.from_dict({"metadata": {"name": "m0", "uid": "n1"}})


class Sink:
    """Keeps what is written, each name once; fails by script."""

    def __init__(self, *failures: ClientError) -> None:
        self.failures = list(failures)
        self.written: list[tuple[str, str, Any]] = []
        self.names: set[str] = set()

    async def create_event(self, namespace: str, event: object) -> bool:
        self._fail()
        event = msgspec.json.decode(cast(bytes, event), type=dict[str, Any])
        if event["metadata"]["name"] in self.names:
            return False
        self.names.add(event["metadata"]["name"])
        self.written.append(("create", namespace, event))
        return True

    async def patch_event(self, namespace: str, name: str, patch: Any) -> None:
        self._fail()
        self.written.append(("patch", name, patch))

    def _fail(self) -> None:
        if self.failures:
            raise self.failures.pop(0)


class SlowSink(Sink):
    """One that takes its time."""

    def __init__(self, *, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def create_event(self, namespace: str, event: object) -> bool:
        await asyncio.sleep(self._seconds)
        return await super().create_event(namespace, event)


def _pod(number: int) -> Pod:
    return Pod.from_dict({"metadata": {"name": f"p{number}", "namespace": "ns"}})


def broadcaster_to(sink: Sink) -> tuple[EventBroadcaster, Recorder]:
    broadcaster = EventBroadcaster(sink, LoopClock(), rng=lambda: 0.0)
    return broadcaster, broadcaster.recorder("default-scheduler")


def fail(recorder: Recorder, pod: Pod = POD, note: str = "no") -> None:
    recorder.event(pod, kind="Warning", reason="FailedScheduling", action="Scheduling", note=note)


# --- fields -----------------------------------------------------------------------------------------------


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
    sink.names.clear()
    sink.failures = [NotFoundError(404)]
    fail(recorder)
    await broadcaster.stop()
    verb, _, event = sink.written[-1]
    assert (verb, event["series"]["count"], event["note"]) == ("create", 2, "no")


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_series_is_written_though_its_event_came_late() -> None:
    """The patch comes before the event itself is there, the create after: the count is patched in once more."""
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    await asyncio.sleep(1)
    sink.failures = [NotFoundError(404)]
    fail(recorder)
    await broadcaster.stop()
    assert [(verb, body.get("series", {}).get("count")) for verb, _, body in sink.written] == [
        ("create", None),
        ("patch", 2),
    ]


# --- binds come first -------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_lone_event_is_written_at_once_beside_its_own_bind() -> None:
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start(defer_while=lambda: True)
    fail(recorder)
    await asyncio.sleep(0.001)
    assert broadcaster.counts == EventCounts(written=1)
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_events_wait_for_binds_and_follow_at_full_speed() -> None:
    """One at a time while binds wait, in the order in which they happened; all of the rest afterwards."""
    sink = SlowSink(seconds=1.0)
    broadcaster, recorder = broadcaster_to(sink)
    binding = [True]
    broadcaster.start(defer_while=lambda: bool(binding))
    for i in range(60):
        fail(recorder, _pod(i))
    await asyncio.sleep(5.5)
    assert [event["regarding"]["name"] for _, _, event in sink.written] == [f"p{i}" for i in range(5)]
    binding.clear()
    await asyncio.sleep(2)
    assert broadcaster.counts == EventCounts(written=60)
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_binds_without_end_hold_no_event_back_for_long() -> None:
    sink = SlowSink(seconds=1.0)
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start(defer_while=lambda: True)
    for i in range(60):
        fail(recorder, _pod(i))
    await asyncio.sleep(MAX_DEFER_SECONDS + 3)
    assert broadcaster.counts == EventCounts(written=60)
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_event_that_cannot_be_written_holds_up_no_other() -> None:
    """Also when only one at a time may: those that follow are looked at again soon after the binds are done."""
    sink = Sink(ApiError(500))
    broadcaster, recorder = broadcaster_to(sink)
    binding = [True]
    broadcaster.start(defer_while=lambda: bool(binding))
    for i in range(3):
        fail(recorder, _pod(i))
    await asyncio.sleep(0.5)
    assert broadcaster.counts.written == 0
    binding.clear()
    await asyncio.sleep(1)
    assert broadcaster.counts.written == 2
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_stop_writes_what_was_held_back() -> None:
    sink = SlowSink(seconds=1.0)
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start(defer_while=lambda: True)
    for i in range(100):
        fail(recorder, _pod(i))
    await broadcaster.stop()
    assert broadcaster.counts == EventCounts(written=100)


# --- failures ---------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_full_queue_drops_counts_and_tells(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A backlog without end is cut, and that is no secret: it is counted, and logged once in a while."""
    monkeypatch.setattr("bayplan.client.event_broadcaster.MAX_QUEUED", 10)
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    for i in range(15):
        fail(recorder, _pod(i))
    assert broadcaster.counts == EventCounts(dropped=5)
    assert [record.message for record in caplog.records] == ["Event dropped: the queue is full"]
    broadcaster.start()
    await broadcaster.stop()
    assert broadcaster.counts == EventCounts(written=10, dropped=5)
    assert len(sink.written) == 10


TROUBLE: list[tuple[str, ClientError]] = [
    ("out of reach", TransportError("refused", sent=False)),
    ("no answer", TransportError("no answer within the time limit", sent=True)),
    ("too many requests", ApiError(429, retry_after=1.0)),
    ("internal error", ApiError(500)),
    ("not ready", ApiError(503)),
    ("credentials being renewed", AccessError("the exec plugin failed")),
]


@pytest.mark.asyncio
@pytest.mark.looptime
@pytest.mark.parametrize("trouble", [each for _, each in TROUBLE], ids=[name for name, _ in TROUBLE])
async def test_server_in_trouble_is_waited_for(trouble: ClientError) -> None:
    """For as long as it takes within an hour: no event is lost because the server is slow to recover."""
    sink = Sink(*[trouble] * 300)
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    await asyncio.sleep(2990)
    assert sink.written == []
    assert broadcaster.n_queued == 1
    await asyncio.sleep(20)
    assert broadcaster.counts == EventCounts(written=1)
    assert broadcaster.n_queued == 0
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_event_older_than_the_server_keeps_them_is_given_up() -> None:
    """After an hour it would be gone as soon as it is written."""
    sink = Sink(*[TransportError("refused", sent=False)] * 1000)
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    await asyncio.sleep(GIVE_UP_SECONDS + 1)
    assert broadcaster.counts == EventCounts(expired=1)
    assert len(sink.failures) == 1000 - 361  # every ten seconds, both ends included
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_backlog_of_a_slow_server_is_written_later() -> None:
    """Many more events than the server takes a second: all of them are written, in the end."""
    sink = SlowSink(seconds=1.0)
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    for i in range(2000):
        fail(recorder, _pod(i))
    await asyncio.sleep(10)
    assert 0 < broadcaster.n_queued < 2000
    await asyncio.sleep(60)
    assert broadcaster.counts == EventCounts(written=2000)
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_one_that_is_to_be_sent_later_holds_up_nobody() -> None:
    """Others are written while some wait for their next try."""
    sink = Sink(*[ApiError(500)] * 20)
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    for i in range(100):
        fail(recorder, _pod(i))
    await asyncio.sleep(1)
    assert (broadcaster.counts.written, broadcaster.n_queued) == (80, 20)
    await asyncio.sleep(10)
    assert broadcaster.counts == EventCounts(written=100)
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_what_is_left_at_the_end_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    """A stop does not wait for ever."""
    broadcaster, recorder = broadcaster_to(Sink(*[ApiError(503)] * 1000))
    broadcaster.start()
    for i in range(100):
        fail(recorder, _pod(i))
    await asyncio.sleep(1)
    await broadcaster.stop(drain_seconds=5)
    assert broadcaster.counts == EventCounts(dropped=100)
    assert caplog.records[-1].message == "Events not written before the end"


@pytest.mark.asyncio
@pytest.mark.looptime
@pytest.mark.parametrize("status", [400, 403, 404, 422])
async def test_refused_event_is_given_up(status: int) -> None:
    """The server has read it and will not have it: a namespace that is ending, a right that is missing."""
    sink = Sink(api_error(status, b""))
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.start()
    fail(recorder)
    await asyncio.sleep(100)
    assert sink.written == []
    assert broadcaster.counts == EventCounts(refused=1)
    await broadcaster.stop()


# --- the client -------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_events_and_binds_do_not_wait_for_each_other() -> None:
    """As in kube-scheduler, events have the configured rate for themselves, and connections too."""
    transport = ScriptedTransport()
    client = KubeClient(transport, LoopClock(), qps=1.0, burst=1)
    events = event_client(transport, LoopClock(), qps=1.0, burst=1)
    binds = [asyncio.create_task(client.request("POST", f"/binds/{i}")) for i in range(3)]
    written = [asyncio.create_task(events.create_event("ns", {"number": i})) for i in range(3)]
    await asyncio.gather(*binds, *written)
    assert [sent.at for sent in transport.sent] == pytest.approx([0, 1, 2])
    assert [sent.at for sent in transport.siblings[0].sent] == pytest.approx([0, 1, 2])
