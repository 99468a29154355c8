"""Every extension point, and every way to misbehave there: what the user sees, and that the others go on.

One cluster for each method of the contract. The pods are named after what the plugin does when it is asked about
them; in between, pods are scheduled about which it answers well.
"""

from __future__ import annotations

import asyncio
import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, cast

import numpy as np
import pytest

from bayplan.framework import (
    Action,
    ClusterEvent,
    Plugin,
    PluginError,
    Reads,
    Resource,
    Status,
    Verdict,
)
from bayplan.framework.points import METHODS
from bayplan.model import Pod
from bayplan.model.kube_object import Condition, condition_of
from bayplan.process.watchdog import Watchdog
from bayplan.queue import QueuedPodInfo
from bayplan.testing import Harness, VirtualCluster, make_node, make_pod

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Hostile}]%(without)s}
"""
WITHOUT = {
    "less": ", disabled: [{name: PrioritySort}]",
    "sort_key": ", disabled: [{name: PrioritySort}]",
    "bind": ", disabled: [{name: DefaultBinder}]",
}
#: So long is long enough to be named in the log and in the record.
NAP_SECONDS = 0.12


# --- what a plugin does ---------------------------------------------------------------------------


def boom(arguments: Any) -> Any:
    raise ValueError("boom")


def leave(arguments: Any) -> Any:
    raise SystemExit(3)


def cancel(arguments: Any) -> Any:
    raise asyncio.CancelledError("gone")


def overflow(arguments: Any) -> Any:
    return overflow(arguments)


def write(arguments: Any) -> Any:
    labels: Any = pod_in(arguments).labels
    labels["written"] = "true"


def loop(arguments: Any) -> Any:
    while True:
        pass


def nap(arguments: Any) -> Any:
    time.sleep(NAP_SECONDS)
    return GOOD


def chatter(arguments: Any) -> Any:
    print("hello")
    return GOOD


def close_stdout(arguments: Any) -> Any:
    sys.stdout.close()
    return GOOD


def hoard(arguments: Any) -> Any:
    """Much at once; what grows with every pod is found by the check."""
    bytearray(32 << 20)
    return GOOD


#: Stands for what a plugin that behaves would return.
GOOD: Final = object()
#: Pod → what the plugin does, and what is told about it.
FAILURES: Final[dict[str, tuple[Callable[[Any], Any], str]]] = {
    "raises": (boom, "boom"),
    "exits": (leave, "the plugin called exit: 3"),
    "cancels": (cancel, "gone"),
    "recurses": (overflow, "maximum recursion depth exceeded"),
    "writes": (write, "this dict is read-only"),
    "loops": (loop, "the plugin took longer than 0.1s (--plugin-timeout)"),
    "wrong-type": (lambda arguments: {"not": "an answer"}, ""),
}
HARMLESS: Final[dict[str, Callable[[Any], Any]]] = {
    "sleeps": nap,
    "prints": chatter,
    "closes-stdout": close_stdout,
    "hoards": hoard,
}


def scores(*values: float) -> Callable[[Any], Any]:
    return lambda arguments: np.array(values)


#: What only some methods can get wrong.
WRONG_ANSWERS: Final[dict[str, dict[str, tuple[Callable[[Any], Any], str]]]] = {
    "sort_key": {"nan": (lambda arguments: float("nan"), "NaN has no place in an order")},
    "filter_nodes": {"wrong-length": (lambda arguments: Verdict(9), "the verdict is not about 2 nodes")},
    "score": {
        "nan": (lambda arguments: float("nan"), "must return a whole number, got float: nan"),
        "out-of-range": (lambda arguments: 101, "invalid score 101, it should in the range of [0, 100]"),
        "beyond-64-bits": (lambda arguments: 10**30, "must fit into 64 bits"),
    },
    "score_nodes": {
        "wrong-length": (scores(1, 2, 3), "scores must be whole numbers of shape (2,)"),
        "nan": (scores(float("nan"), 0.0), "scores must be whole numbers of shape (2,), got float64"),
        "out-of-range": (scores(-1, 0), "invalid score -1"),
    },
    "normalize_score": {
        "wrong-length": (scores(1), "scores must be whole numbers of shape (2,)"),
        "nan": (scores(float("nan"), 0.0), "got float64"),
        "out-of-range": (scores(1000, 0), "invalid score 1000"),
    },
    "permit": {
        "nan": (lambda arguments: Status.wait(timeout_seconds=float("nan")), "timeout_seconds must be 0 or more"),
    },
}


# --- the plugin -----------------------------------------------------------------------------------


def pod_in(arguments: Any) -> Pod:
    return next(
        each.pod if isinstance(each, QueuedPodInfo) else each
        for each in arguments
        if isinstance(each, Pod | QueuedPodInfo)
    )


def well(method: str, arguments: Any) -> Any:
    """What a plugin that behaves returns from *method*."""
    answers: dict[str, Callable[[], Any]] = {
        "less": lambda: arguments[0].timestamp < arguments[1].timestamp,
        "sort_key": lambda: arguments[0].timestamp,
        "filter_nodes": lambda: arguments[2].accept_all(),
        "post_filter": lambda: Status.unschedulable("no help"),
        "score": lambda: 0,
        "score_nodes": lambda: np.zeros(len(arguments[2]), dtype=np.int64),
        "bind": lambda: Status.skip(),
        "sign": lambda: (),
        "waits_with": lambda: False,
        "waits_for": lambda: (),
    }
    return answers.get(method, lambda: None)()


class Told(NamedTuple):
    """Where the user sees what went wrong."""

    #: The reason of the condition PodScheduled; empty: the pod is bound all the same, and only the log tells.
    reason: str
    #: What more the plugin must define, for the method to be called.
    others: tuple[str, ...] = ()
    #: What the pod needs to be asked about there.
    spec: dict[str, Any] = {}  # noqa: RUF012


FAILED: Final = Told("SchedulerError")
SEEN: Final = {
    "pre_enqueue": FAILED,
    "less": Told(""),
    "sort_key": Told(""),
    "pre_filter": FAILED,
    "filter": FAILED,
    "filter_nodes": FAILED,
    "post_filter": Told("Unschedulable", (), {"nodeSelector": {"no": "such-node"}}),
    "pre_score": FAILED,
    "score": FAILED,
    "score_nodes": FAILED,
    "normalize_score": Told("SchedulerError", ("score",)),
    "reserve": FAILED,
    "permit": FAILED,
    "pre_bind_pre_flight": Told("SchedulerError", ("pre_bind",)),
    "pre_bind": FAILED,
    "bind": FAILED,
    "post_bind": Told(""),
    "sign": Told("SchedulerError", ("filter_nodes",)),
}
#: Called in a situation of its own, in the tests below, before any pod, or after all pods (test_background_tasks).
ELSEWHERE: Final = {
    "add_pod", "remove_pod", "unreserve", "waits_with", "waits_for", "events_to_register", "carry_over", "close",
}  # fmt: skip


def hostile(method: str) -> type[Plugin]:
    behaviours = {
        **{name: act for name, (act, _) in FAILURES.items()},
        **{name: act for name, (act, _) in WRONG_ANSWERS.get(method, {}).items()},
        **HARMLESS,
    }
    done: set[str] = set()

    def answer(arguments: Any) -> Any:
        name = pod_in(arguments).name
        if name in behaviours and (name not in ("loops", "sleeps") or name not in done):
            done.add(name)  # a pod is tried again, and again it would take as long
            answered = behaviours[name](arguments)
            return well(method, arguments) if answered is GOOD else answered
        return well(method, arguments)

    def asked(self: Any, *arguments: Any) -> Any:
        return answer(arguments)

    async def asked_async(self: Any, *arguments: Any) -> Any:
        return answer(arguments)

    def another(name: str) -> Any:
        async def asked_too(self: Any, *arguments: Any) -> Any:
            return well(name, arguments)

        return asked_too if METHODS[name].is_async else lambda self, *arguments: well(name, arguments)

    methods = {name: another(name) for name in SEEN[method].others}
    reads = {"reads": Reads.NODE} if method == "sign" else {}
    return type(
        "Hostile",
        (Plugin,),
        {"name": "Hostile", **methods, **reads, method: asked_async if METHODS[method].is_async else asked},
    )


@contextmanager
def limited() -> Iterator[None]:
    """Calls are limited to a tenth of a second, by a watchdog for which the loop never answers."""

    class Busy:
        def call_soon_threadsafe(self, callback: Any) -> None: ...

    watchdog = Watchdog(cast("asyncio.AbstractEventLoop", Busy()), plugin_timeout=0.1)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.stop()


def condition(pod: Pod) -> Condition:
    found = condition_of(pod.status.conditions, "PodScheduled")
    assert found is not None
    return found


def test_the_table_is_complete() -> None:
    assert SEEN.keys() | ELSEWHERE == METHODS.keys()


@pytest.mark.parametrize("method", SEEN)
def test_whatever_a_plugin_does(
    method: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The condition, or else the log, names the plugin and what it did; the pods after it are scheduled."""
    told, output = SEEN[method], io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    text = CONFIGURATION % {"without": WITHOUT.get(method, "")}
    if method == "bind":
        text += "    bind: {enabled: [{name: DefaultBinder}]}\n"
    with VirtualCluster(2, plugins=[hostile(method)], configuration=text) as cluster:
        for name, (_, said) in {**FAILURES, **WRONG_ANSWERS.get(method, {})}.items():
            caplog.clear()
            with limited() if name == "loops" else memoryview(b""):
                pod = cluster.schedule(make_pod(name, labels={"case": name}, spec=told.spec))
            check_failure(method, name, pod, said, caplog.text)
        assert cluster.schedule(make_pod("after-failures")).node_name
        for name in HARMLESS:
            pod = cluster.schedule(make_pod(name, labels={"case": name}, spec=told.spec))
            assert bool(pod.node_name) == (not told.spec), name
        assert cluster.schedule(make_pod("after-all")).node_name
    assert output.closed  # by the plugin


def check_failure(method: str, name: str, pod: Pod, said: str, log: str) -> None:
    told = SEEN[method]
    if not told.reason:
        assert pod.node_name
        if name != "wrong-type" and not name.startswith("loops"):
            assert "plugin=Hostile" in log, (name, log)
            assert f"pod=default/{name}" in log, (name, log)
        return
    if method == "sign":
        said = {"wrong-type": "unhashable", "exits": "SystemExit: 3"}.get(name, said)
    shown = condition(pod)
    assert (shown.status, shown.reason) == ("False", told.reason), (name, shown)
    assert said in shown.message, (name, shown)
    if method != "post_filter" or name != "wrong-type":
        assert "Hostile" in shown.message, (name, shown)


# --- situations of their own ----------------------------------------------------------------------

ACTS: Final = {name: act for name, (act, _) in FAILURES.items() if name not in ("loops", "wrong-type")}
HIGH: Final = {"metadata": {"name": "high"}, "value": 100}
each_act = pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)


@each_act
def test_unreserve(act: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """The pod is told what went wrong first; its place is there for the next one."""

    class Hostile(Plugin):
        name = "Hostile"

        def reserve(self, state: Any, pod: Any, node_name: str) -> None: ...

        def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
            act((pod,))

        async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
            return Status.failed("no disk") if pod.name == "victim" else None

    with VirtualCluster([make_node("a", cpu="1")], plugins=[Hostile]) as cluster:
        refused = cluster.schedule(make_pod("victim", cpu="1"))
        assert condition(refused).message == 'running PreBind plugin "Hostile": no disk'
        assert "plugin=Hostile point=Reserve pod=default/victim" in caplog.text
        cluster.apply(make_pod("other", cpu="1"))
        cluster.wait(10)
        assert cluster.pod("other").node_name == "a"


@each_act
def test_remove_pod(act: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """In the what-ifs of preemption: there is none then, and nothing of the what-if is left."""

    class Hostile(Plugin):
        name = "Hostile"

        def pre_filter(self, state: Any, pod: Any) -> None: ...  # type: ignore[override]

        def add_pod(self, state: Any, pod: Any, added: Any, node: Any) -> None: ...

        def remove_pod(self, state: Any, pod: Any, removed: Any, node: Any) -> None:
            act((pod,))

    with VirtualCluster([make_node("a", cpu="1")], plugins=[Hostile]) as cluster:
        assert cluster.schedule(make_pod("low", cpu="1")).node_name
        cluster.apply({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **HIGH})
        refused = cluster.schedule(make_pod("high", cpu="1", spec={"priorityClassName": "high"}))
        assert condition(refused).reason == "Unschedulable"
        assert "plugin=Hostile point=PreFilter pod=default/high" in caplog.text
        assert cluster.pod("low").node_name == "a"
        assert cluster.schedule(make_pod("small", cpu="0")).node_name == "a"


@each_act
def test_waits_with_and_waits_for(act: Callable[[Any], Any]) -> None:
    """Count as no."""

    class Hostile(Plugin):
        name = "Hostile"

        def permit(self, state: Any, pod: Any, node_name: str) -> Any:
            return Status.unschedulable("not yet") if pod.name == "first" else None

        def waits_with(self, pod: Any, other: Any) -> Any:
            return act((pod,))

        def waits_for(self, pod: Any) -> Any:
            return act((pod,))

    with VirtualCluster([make_node("a", cpu="1")], plugins=[Hostile]) as cluster:
        assert condition(cluster.schedule(make_pod("first", cpu="1"))).reason == "Unschedulable"
        assert cluster.schedule(make_pod("second", cpu="1")).node_name == "a"


@each_act
def test_a_queueing_hint(act: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """Counts as yes: the pod is tried again."""

    class Hostile(Plugin):
        name = "Hostile"

        def filter(self, state: Any, pod: Any, node: Any) -> Any:
            return None if "good" in node.labels else Status.unschedulable("not good")

        def events_to_register(self) -> Any:
            return (ClusterEvent(Resource.NODE, Action.ADD, self._after_node),)

        def _after_node(self, pod: Any, old: Any, new: Any) -> Any:
            return act((pod,))

    with VirtualCluster([make_node("a")], plugins=[Hostile]) as cluster:
        assert condition(cluster.schedule(make_pod("victim"))).reason == "Unschedulable"
        cluster.apply(make_node("b", labels={"good": "yes"}))
        cluster.wait(30)
        assert cluster.pod("victim").node_name == "b"
        assert "Queueing hint raised: plugin=Hostile pod=default/victim" in caplog.text


@each_act
def test_a_callback(act: Callable[[Any], Any], caplog: pytest.LogCaptureFixture) -> None:
    """The cache and the queue hear of the change all the same."""

    class Hostile(Plugin):
        name = "Hostile"

        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            handle.informers.on_change(Pod, lambda old, new: act((new or old,)))

        def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    with VirtualCluster(1, plugins=[Hostile]) as cluster:
        assert cluster.schedule(make_pod("victim")).node_name
        assert "Callback raised: plugin=Hostile object=Pod default/victim" in caplog.text


@each_act
def test_a_constructor(act: Callable[[Any], Any]) -> None:
    """Is refused before anything starts."""

    class Hostile(Plugin):
        name = "Hostile"

        def __init__(self, args: Any, handle: Any) -> None:
            act((make_pod("p"),))

        def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    with pytest.raises(PluginError, match=r"plugin Hostile .*: its constructor raised "):
        Harness(plugins=[Hostile])
