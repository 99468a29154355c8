"""Whatever an extender responds, an attempt ends with a decision."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayplan.core.schedule_one import ProfileScheduler
from bayplan.extender import HttpExtender
from bayplan.framework import Code
from bayplan.shell.extender_driver import decide_with_extenders
from bayplan.testing import Harness, make_node, make_pod

#: 1,000 examples with ten answers each.
N_EXAMPLES, N_ANSWERS = 1000, 10
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- {urlPrefix: "http://one", filterVerb: f, prioritizeVerb: p, preemptVerb: e, weight: 3, nodeCacheCapable: true}
- {urlPrefix: "http://two", filterVerb: f, prioritizeVerb: p, preemptVerb: e, weight: 1, ignorable: true}
"""

NAMES = st.sampled_from(
    """
    Nodes nodenames NodeNames FailedNodes FAILEDANDUNRESOLVABLENODES Error Host score NodeNameToMetaVictims Pods
    UID NumPDBViolations items metadata name spec status a b zzz allocatable taints labels cpu
    """.split()  # noqa: SIM905  a list of so many is easier to read like this
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(["a", "b", "c", "v-a", "v-b", "1Gi", "\ud800"])
)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=6
)
NODE_NAMES = st.sampled_from(["a", "b", "c", "d", "zzz"])
ALMOST_NODES = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": NODE_NAMES | VALUES})},
    optional={"spec": VALUES, "status": st.fixed_dictionaries({"allocatable": st.dictionaries(NAMES, LEAVES)})},
)
ALMOST_RIGHT = (
    st.fixed_dictionaries(
        {},
        optional={
            "NodeNames": st.lists(NODE_NAMES | LEAVES, max_size=4) | VALUES,
            "Nodes": st.fixed_dictionaries({"items": st.lists(ALMOST_NODES, max_size=3)}) | VALUES,
            "FailedNodes": st.dictionaries(NODE_NAMES, st.text(max_size=4) | LEAVES),
            "FailedAndUnresolvableNodes": st.dictionaries(NODE_NAMES, st.text(max_size=4)),
            "Error": LEAVES,
        },
    )
    | st.lists(st.fixed_dictionaries({"Host": NODE_NAMES | LEAVES, "Score": LEAVES}), max_size=5)
    | st.fixed_dictionaries(
        {
            "NodeNameToMetaVictims": st.dictionaries(
                NODE_NAMES,
                st.fixed_dictionaries(
                    {"Pods": st.lists(st.none() | st.fixed_dictionaries({"UID": LEAVES}), max_size=3)},
                    optional={"NumPDBViolations": LEAVES},
                )
                | VALUES,
            )
        }
    )
)
ANSWERS = st.binary(max_size=30) | (VALUES | ALMOST_RIGHT).map(lambda value: json.dumps(value).encode())


class Scripted:
    """Takes the place of an endpoint."""

    def __init__(self) -> None:
        self.answers: Iterator[bytes] = iter(())

    async def post(self, verb: str, body: bytes, *, again: bool) -> bytes:
        json.loads(body)
        return next(self.answers, b"")


@pytest.fixture(scope="module")
def endpoint() -> Scripted:
    return Scripted()


@pytest.fixture(scope="module")
def scheduler(endpoint: Scripted) -> ProfileScheduler:
    """Four nodes: two full of evictable pods, two half full of pods that cannot be evicted."""
    pods = [make_pod(f"v-{name}", cpu="4", node_name=name, metadata={"uid": f"v-{name}"}) for name in "ab"]
    pods += [make_pod(f"w-{name}", cpu="2", node_name=name, priority=100) for name in "cd"]
    harness = Harness(nodes=[make_node(name) for name in "abcd"], pods=pods, configuration=CONFIGURATION)
    for extender in harness.core.extenders:
        assert isinstance(extender, HttpExtender)
        extender._endpoint = endpoint  # type: ignore[assignment]
    return harness.core.schedulers["default-scheduler"]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as made:
        yield made


@pytest.mark.timeout(900)  # twenty seconds of a free core; machines are shared
@settings(max_examples=N_EXAMPLES, suppress_health_check=list(HealthCheck))
@given(answers=st.lists(ANSWERS, min_size=N_ANSWERS, max_size=N_ANSWERS))
def test_ten_thousand_hostile_responses(
    answers: list[bytes], endpoint: Scripted, scheduler: ProfileScheduler, runner: asyncio.Runner
) -> None:
    """Filter and prioritize for a pod that fits, preempt for one that does not: a node, a nomination or a message
    that can be written, and never an exception."""
    endpoint.answers = iter(answers)
    for n_cpus in ("1", "4", "1"):
        pod = make_pod("p", cpu=n_cpus, priority=10)
        decision = runner.run(_decide(scheduler, pod))

        assert decision.node_name or decision.status.code in (Code.UNSCHEDULABLE, Code.ERROR)
        assert msgspec.json.encode([decision.message, decision.node_name, decision.nominate])
        decision.record.compact()


async def _decide(scheduler: ProfileScheduler, pod: Any) -> Any:
    return await decide_with_extenders(scheduler, pod)
