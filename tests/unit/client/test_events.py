"""Events: their fields, their series, and what happens when the server cannot keep up."""

from __future__ import annotations

import asyncio
import re
import socket
from datetime import datetime, timedelta
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.client.doubles import LoopClock, ScriptedTransport

from bayplan.client.api import KubeClient
from bayplan.client.errors import (
    AccessError,
    ApiError,
    ClientError,
    NotFoundError,
    TransportError,
    api_error,
)
from bayplan.client.event_series import Aggregator, EventNumbers, Occurrence, cut_note, event_name, micro_time
from bayplan.client.events import (
    GIVE_UP_SECONDS,
    HOLD_SECONDS,
    EventBroadcaster,
    EventCounts,
    Recorder,
    event_client,
)
from bayplan.client.transport import Transport
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


def test_names_differ_within_an_instant() -> None:
    """Of one writer, and of two that write about the same object: else one of the events would be lost."""
    first, second = EventNumbers(), EventNumbers("ElasticQuotaController")
    numbers = [each.next(1_700_000_000.0) for each in (first, second, first, second)]

    assert len(set(numbers)) == 4
    assert all(0 <= number - 1_700_000_000_000_000_000 < 1_100_000 for number in numbers)


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


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.client.event_series.MAX_REMEMBERED", 3)
    aggregator = Aggregator()
    for i in range(5):
        aggregator.add(i, Occurrence("ns", "a1", b"{}", 0.0))
    assert len(aggregator) == 3
    assert aggregator.known(0) is None


# --- binds come first -------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_lone_event_is_written_at_once_beside_its_own_bind() -> None:
    sink = Sink()
    broadcaster, recorder = broadcaster_to(sink)
    broadcaster.are_binds_waiting = lambda: True
    broadcaster.start()
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
    broadcaster.are_binds_waiting = lambda: bool(binding)
    broadcaster.start()
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
    broadcaster.are_binds_waiting = lambda: True
    broadcaster.start()
    for i in range(60):
        fail(recorder, _pod(i))
    await asyncio.sleep(HOLD_SECONDS + 3)
    assert broadcaster.counts == EventCounts(written=60)
    await broadcaster.stop()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_event_that_cannot_be_written_holds_up_no_other() -> None:
    """Also when only one at a time may: those that follow are looked at again soon after the binds are done."""
    sink = Sink(ApiError(500))
    broadcaster, recorder = broadcaster_to(sink)
    binding = [True]
    broadcaster.are_binds_waiting = lambda: bool(binding)
    broadcaster.start()
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
    broadcaster.are_binds_waiting = lambda: True
    broadcaster.start()
    for i in range(100):
        fail(recorder, _pod(i))
    await broadcaster.stop()
    assert broadcaster.counts == EventCounts(written=100)


# --- bad days ---------------------------------------------------------------------------------------------


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_full_queue_drops_counts_and_tells(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A backlog without end is cut, and that is no secret: it is counted, and logged once in a while."""
    monkeypatch.setattr("bayplan.client.events.MAX_QUEUED", 10)
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


class WithSiblings(ScriptedTransport):
    """A transport whose siblings are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.siblings: list[ScriptedTransport] = []

    def sibling(self, **options: object) -> ScriptedTransport:
        self.siblings.append(ScriptedTransport())
        return self.siblings[-1]


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_events_and_binds_do_not_wait_for_each_other() -> None:
    """As in kube-scheduler, events have the configured rate for themselves, and connections too."""
    transport = WithSiblings()
    client = KubeClient(cast(Transport, transport), LoopClock(), qps=1.0, burst=1)
    events = event_client(cast(Transport, transport), LoopClock(), qps=1.0, burst=1)
    binds = [asyncio.create_task(client.request("POST", f"/binds/{i}")) for i in range(3)]
    written = [asyncio.create_task(events.create_event("ns", {"number": i})) for i in range(3)]
    await asyncio.gather(*binds, *written)
    assert [sent.at for sent in transport.sent] == pytest.approx([0, 1, 2])
    assert [sent.at for sent in transport.siblings[0].sent] == pytest.approx([0, 1, 2])


# --- names and times --------------------------------------------------------------------------------------

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@given(st.text(alphabet="a0-.é_A", max_size=6), st.sampled_from([0, 250]))
def test_a_name_is_taken_as_it_is_where_it_makes_a_subdomain(regarding: str, longer: int) -> None:
    """RFC 1123, as the API server checks names; any other event has a name of its own."""
    regarding = "a" * longer + regarding
    wanted = f"{regarding}.ff"
    is_valid = _SUBDOMAIN.fullmatch(wanted) is not None and len(wanted) <= 253

    assert (event_name(regarding, 255) == wanted) is is_valid


@given(st.integers(0, 2_000_000_000_000_000))
def test_times_have_microseconds(micros: int) -> None:
    """In UTC; the second is not that of the event before."""
    expected = datetime(1970, 1, 1) + timedelta(microseconds=micros)

    assert micro_time(micros / 1e6) == f"{expected:%Y-%m-%dT%H:%M:%S.%f}Z"
