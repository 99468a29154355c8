"""Extenders against the real thing.

What a stock kube-scheduler asks and does, we ask and do; and a plugin gives the same answers inside Bayplan and as
an extender behind a stock kube-scheduler.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import re
import subprocess
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.e2e.api import Object, eventually
from tests.e2e.bayplan import PROGRAM, start_bayplan
from tests.e2e.control_plane import ControlPlane, accepts, free_port
from tests.e2e.fake_extender import Answer, FakeExtender
from tests.e2e.objects import node, pod
from tests.e2e.seen import bound_to, condition, is_settled

from bayplan.extender.scaling import scaled
from bayplan.framework import Plugin
from bayplan.framework.plugin import defines
from bayplan.model import Node, Pod
from bayplan.testing import Harness

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]


# --- live comparison --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An extender and what it answers, by verb."""

    extender: Mapping[str, Any]
    answers: Mapping[str, Answer]
    #: Whether the pod ends on this node; None: nobody can tell, or it does not.
    node: str | None = None


def _keep(*names: str, **failed: str) -> Answer:
    def answer(body: Any) -> tuple[int, Any]:
        if body["NodeNames"] is not None:
            return 200, {"NodeNames": list(names), "FailedNodes": failed}
        kept = [each for each in body["Nodes"]["items"] if each["metadata"]["name"] in names]
        return 200, {"Nodes": {"items": kept}, "FailedNodes": failed}

    return answer


def _say(status: int, answer: Any) -> Answer:
    return lambda body: (status, answer)


CASES = {
    "filter keeps one, nodes": Case({"filterVerb": "f"}, {"f": _keep("b")}, "b"),
    "filter keeps one, names": Case({"filterVerb": "f", "nodeCacheCapable": True}, {"f": _keep("b")}, "b"),
    "filter keeps none, with reasons": Case({"filterVerb": "f"}, {"f": _keep(a="busy", b="busy", c="hot")}),
    "filter says nothing": Case({"filterVerb": "f"}, {"f": _say(200, {})}),
    "filter fails": Case({"filterVerb": "f"}, {"f": _say(500, {})}),
    "filter refuses": Case({"filterVerb": "f"}, {"f": _say(200, {"Error": "closed today"})}),
    "filter fails, ignorable": Case({"filterVerb": "f", "ignorable": True}, {"f": _say(500, {})}),
    "prioritize": Case(
        {"prioritizeVerb": "p", "weight": 2},
        {"p": _say(200, [{"Host": "c", "Score": 9}, {"Host": "a", "Score": 1}])},
        "c",
    ),
    "bind refused": Case({"bindVerb": "b"}, {"b": _say(200, {"Error": "not here"})}),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_same_as_the_stock_scheduler(control_plane: ControlPlane, case: Case) -> None:
    """The same requests, and the same said of the pod."""
    control_plane.api.create_many([node(name) for name in "abc"])
    stock = _play(control_plane, control_plane.start_scheduler, case)
    ours = _play(control_plane, lambda configuration: start_bayplan(control_plane, configuration), case)

    assert ours == stock
    assert case.node is None or stock.node == case.node


@dataclass(frozen=True)
class Seen:
    """What came of a case."""

    first_request: Any
    reason: str | None
    message: str | None
    node: str | None


def _play(plane: ControlPlane, start: Callable[[Object], Any], case: Case) -> Seen:
    answers = {f"/{verb}": answer for verb, answer in case.answers.items()}
    with FakeExtender(answers) as extender:
        process = start({"extenders": [{"urlPrefix": extender.url, **case.extender}]})
        plane.api.create(pod("p"))
        eventually(lambda: is_settled(plane.api, "p"))
        process.stop()
        found = plane.api.get("Pod", "p")
        said = condition(found) or {}
        message = said.get("message", "").replace(extender.url, "URL") or None
        path, body = extender.requests[0]
    plane.api.delete("Pod", "p")
    eventually(lambda: not plane.api.list("Pod", namespace="default"))
    # Among nodes that rank alike the choice is free.
    node_name = found["spec"].get("nodeName") if case.node else None
    return Seen((path, _comparable(body)), said.get("reason"), message, node_name)


def _comparable(value: Any) -> Any:
    """Without uids, times, versions, managed fields, and the order of nodes."""
    if isinstance(value, list):
        return sorted((_comparable(each) for each in value), key=lambda each: json.dumps(each, sort_keys=True))
    if not isinstance(value, dict):
        return value
    left_out = {"uid", "PodUID", "creationTimestamp", "resourceVersion", "managedFields", "Node"}
    return {
        name: "TIME" if name.endswith("Time") and each else _comparable(each)
        for name, each in value.items()
        if name not in left_out
    }


# --- one class, two homes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Home:
    """A plugin, and a pod to try it with on some nodes."""

    #: From the root of the project.
    file: str
    name: str
    nodes: Sequence[Object]
    pod: Object = field(default_factory=lambda: pod("p"))
    #: Its `pluginConfig` args.
    args: Mapping[str, Any] | None = None


def _labelled(**labels: str) -> list[Object]:
    return [node(name, labels={"cpu": label}) for name, label in labels.items()]


#: A later example joins with a line.
HOMES = {
    "label filter": Home(
        "examples/01-label-filter/cpu_nodes.py", "CpuNodes", _labelled(a="true", b="no", c="true")
    ),
    "label filter, no node": Home("examples/01-label-filter/cpu_nodes.py", "CpuNodes", _labelled(a="no", b="no")),
    "scorer, one node at a time": Home(
        "tests/e2e/two_homes.py",
        "Points",
        [node(f"n{points}", labels={"points": str(points)}) for points in (0, 7, 44, 45, 100)],
    ),
    "scorer, all nodes at once": Home(
        "tests/e2e/two_homes.py",
        "PointsColumns",
        [node(f"n{points}", labels={"points": str(points)}) for points in (0, 7, 44, 45, 100)],
    ),
    "filter and score": Home(
        "tests/e2e/two_homes.py",
        "Roomy",
        [node("small", cpu="1"), node("middle", cpu="8"), node("big", cpu="32"), node("huge", cpu="64")],
    ),
}


@pytest.mark.parametrize("has_cluster", [True, False], ids=["names, nodes from the cluster", "whole nodes"])
@pytest.mark.parametrize("home", [pytest.param(home, id=name) for name, home in HOMES.items()])
def test_one_class_two_homes(control_plane: ControlPlane, home: Home, has_cluster: bool) -> None:
    """The same feasible nodes in the same order: scores less the steps that extenders do not have."""
    control_plane.api.create_many(home.nodes)
    inside = _inside(home)
    behind = _behind(control_plane, home, has_cluster=has_cluster)

    assert behind.keys() == inside.keys()
    if len(inside) > 1:
        expected = {name: 10 * int(scaled(_array(score), highest=100)[0]) for name, score in inside.items()}
        assert behind == expected
        best = max(inside, key=lambda name: inside[name])
        assert behind[best] == max(behind.values())


def _array(score: int) -> Any:
    import numpy as np

    return np.array([score], dtype=np.int64)


def _inside(home: Home) -> dict[str, int]:
    """Feasible node → score, in a profile of Bayplan; without scores they are 0."""
    plugin = _load(home)
    # Without anybody who scores the first feasible node would be enough.
    alone = {"disabled": [{"name": "*"}], "enabled": [{"name": home.name, "weight": 1}]} if _scores(plugin) else {}
    plugins = {"multiPoint": {"enabled": [{"name": home.name}]}, "score": alone}
    text = yaml.safe_dump(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "percentageOfNodesToScore": 100,
            "profiles": [{"plugins": plugins}],
        }
    )
    harness = Harness(nodes=map(Node.from_dict, home.nodes), plugins=[plugin], configuration=text)
    decision = harness.decide(Pod.from_dict(home.pod))
    outcome = decision.record.filter
    assert outcome is not None
    names = [str(name) for name in outcome.nodes.names[outcome.feasible]]
    if decision.scores is None or not _scores(plugin):
        return dict.fromkeys(names, 0)
    return dict(zip(map(str, decision.scores.nodes.names), decision.scores.totals.tolist(), strict=True))


def _scores(plugin: type[Plugin]) -> bool:
    return defines(plugin, "score") or defines(plugin, "score_nodes")


def _load(home: Home) -> type[Plugin]:
    spec = importlib.util.spec_from_file_location(f"home_{home.name}", ROOT / home.file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plugin: type[Plugin] = getattr(module, home.name)
    return plugin


def _behind(plane: ControlPlane, home: Home, *, has_cluster: bool) -> dict[str, int]:
    """The same from the log of a stock kube-scheduler that has no scores of its own."""
    extender = _serve(plane, home, has_cluster=has_cluster)
    configuration = {
        "percentageOfNodesToScore": 100,
        "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}]}}}],
        "extenders": [extender],
    }
    scheduler = plane.start_scheduler(configuration, arguments=["--vmodule=schedule_one=10"])
    plane.api.create(home.pod)
    eventually(lambda: is_settled(plane.api, "p"))
    chosen = bound_to(plane.api, "p")
    if chosen is None:
        return {}
    pattern = re.compile(r'Calculated node\'s final score for pod" pod="default/p" node="([^"]+)" score=(\d+)')
    found = {name: int(score) for name, score in pattern.findall(scheduler.log.read_text())}
    return found or {chosen: 0}


def _serve(
    plane: ControlPlane, home: Home, *, has_cluster: bool, port: int = 0, more: Sequence[str] = ()
) -> Object:
    """Start the extender; the stanza that it prints for a scheduler."""
    port = port or free_port()
    command: list[str | Path] = [
        PROGRAM,
        "extender",
        "serve",
        f"--plugin={ROOT / home.file}:{home.name}",
        f"--port={port}",
    ]
    if has_cluster:
        command.append(f"--kubeconfig={plane.kubeconfig_for('system:kube-scheduler')}")
    command += more
    printed = subprocess.run(  # noqa: S603
        [*map(str, command), "--print-config"], capture_output=True, text=True, check=True, timeout=60
    )
    plane.start("extender", command)
    (extender,) = yaml.safe_load(printed.stdout)["extenders"]
    if extender["urlPrefix"].startswith("https"):
        eventually(lambda: accepts(port))
    else:
        eventually(lambda: _answers(f"http://127.0.0.1:{port}/readyz"))
    assert extender["nodeCacheCapable"] is has_cluster
    return dict(extender)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


def test_a_stock_scheduler_shows_who_it_is(control_plane: ControlPlane, tmp_path: Path) -> None:
    """HTTPS with a self-signed certificate, a token in the URL and a client certificate, all as printed."""
    home = HOMES["label filter"]
    control_plane.api.create_many(home.nodes)
    port, token = free_port(), tmp_path / "token"
    token.write_text("s3cret\n")
    url = f"https://bayplan:s3cret@127.0.0.1:{port}"
    authority = control_plane.authority
    client = authority.client("extender-client", user="scheduler")
    flags = [
        f"--self-signed={tmp_path}",
        f"--token-file={token}",
        f"--client-ca-file={authority.pair.certificate}",
    ]
    extender = _serve(control_plane, home, has_cluster=False, port=port, more=[*flags, f"--url={url}"])
    extender["tlsConfig"] |= {"certFile": str(client.certificate), "keyFile": str(client.key)}
    control_plane.start_scheduler({"extenders": [extender]})
    control_plane.api.create(home.pod)

    eventually(lambda: bound_to(control_plane.api, "p") in ("a", "c"))


def test_the_copy_of_a_request_is_comparable() -> None:
    """What is left out of the comparison is a matter of chance or of time, and nothing else is."""
    request = {"Pod": {"metadata": {"uid": "1", "name": "p"}}, "NodeNames": ["b", "a"]}

    assert _comparable(copy.deepcopy(request)) == {"Pod": {"metadata": {"name": "p"}}, "NodeNames": ["a", "b"]}
