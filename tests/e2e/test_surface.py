"""What Bayplan shows from outside is what the kube-scheduler of the release was recorded with.

One run against a real API server: pods that fit, one that does not, one that waits for a gate and one that evicts
another. What it leaves behind is compared with tests/parity/golden/surface-<release>.json.
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from prometheus_client import Metric
from tests.e2e.api import Api, Object
from tests.e2e.bayplan import start_bayplan
from tests.e2e.binaries import KUBERNETES_VERSION, chosen_release
from tests.e2e.control_plane import ControlPlane
from tests.e2e.surface_story import EVENTS, NODES, scraped, spared_pod, status_for_a_stranger, tell_the_story

from bayplan.cli import main
from bayplan.cli.flags.flag import REFUSED, Flag
from bayplan.cli.flags.flag_table import FLAGS
from bayplan.cli.flags.go_parsing import LISTS, go_text
from bayplan.release import release_named

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
SURFACE: dict[str, Any] = json.loads(
    (ROOT / "tests" / "parity" / "golden" / f"surface-{KUBERNETES_VERSION}.json").read_text()
)
METRICS: list[dict[str, Any]] = SURFACE["metrics"]
#: Label → values that are another program's: builds, hosts, queues of Go's libraries.
NOT_COMPARED = {
    "kubernetes_build_info": {"*"},
    "kubernetes_feature_enabled": {"name"},
    "workqueue_depth": {"name"},
    # One pod in ten is measured, by chance.
    "scheduler_plugin_execution_duration_seconds": {"*"},
}
#: Pods are signed by the plugins that keep their answers, and not at a point of its own.
NO_SUCH_POINT = "Sign"
#: Flags that would end the run, or that the run has values of its own for.
_OTHERWISE = {
    *("config", "write-config-to", "master", "v", "bind-address", "secure-port"),
    *("tls-cert-file", "tls-private-key-file", "authentication-kubeconfig", "authorization-kubeconfig"),
}


@dataclass
class Run:
    """What a run has left behind."""

    plane: ControlPlane
    api: Api
    port: int
    metrics: dict[str, Metric]
    resources: dict[str, Metric]
    events: list[Object]


@pytest.fixture(scope="module")
def run(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with ControlPlane(tmp_path_factory.mktemp("surface"), programs=programs) as plane:
        plane.api.create_many(NODES)
        process = start_bayplan(
            plane,
            {"leaderElection": {"leaderElect": True}},
            verbosity=5,
            arguments=[_as_given(flag) for flag in FLAGS if flag.name not in _OTHERWISE],
        )
        assert process.port is not None
        tell_the_story(plane.api)
        api = plane.client(process.port)
        try:
            yield Run(
                plane,
                api,
                process.port,
                scraped(api, "/metrics"),
                scraped(api, "/metrics/resources"),
                plane.api.list(EVENTS),
            )
        finally:
            api.close()
        assert process.stop() == 0


def _as_given(flag: Flag) -> str:
    """The flag with its default, written down: those that are refused may stand there like that."""
    text = go_text(flag.default)
    return f"--{flag.name}={text.strip('[]') if flag.kind in LISTS else text}"


# --- metrics ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seen",
    [metric for metric in METRICS if metric["stability"] != "ALPHA"],
    ids=lambda seen: str(seen["name"]),
)
def test_stable_and_beta_metrics_are_there(run: Run, seen: dict[str, Any]) -> None:
    """With their type, their labels and the values of these, their buckets as written, their stability."""
    ours = run.metrics[seen["name"]]

    assert ours.type == seen["type"]
    if seen["stability"]:
        assert ours.documentation.startswith(f"[{seen['stability']}] ")
    samples = [sample for sample in ours.samples if not sample.name.endswith(("_sum", "_count"))]
    assert {name for sample in samples for name in sample.labels} - {"le"} == set(seen["labels"])
    if seen["type"] == "histogram":
        assert list(dict.fromkeys(sample.labels["le"] for sample in samples)) == seen["buckets"]
    free = NOT_COMPARED.get(seen["name"], set())
    for label, values in seen["labels"].items():
        if not free & {label, "*"}:
            assert {sample.labels[label] for sample in samples} == set(values) - {NO_SUCH_POINT}


def test_alpha_metrics_of_ours_agree(run: Run) -> None:
    """Those that we have are of the type and with the labels that were recorded."""
    seen = {metric["name"]: metric for metric in METRICS if metric["stability"] == "ALPHA"}
    shared = seen.keys() & run.metrics.keys()

    assert len(shared) >= 9
    for name in shared:
        labels = {label for sample in run.metrics[name].samples for label in sample.labels} - {"le"}
        assert (run.metrics[name].type, labels) == (seen[name]["type"], set(seen[name]["labels"]))


def test_metrics_count_what_happened(run: Run) -> None:
    """Twelve pods bound, the rest waiting: the numbers are those of the story."""

    def value(name: str, /, **labels: str) -> float:
        (found,) = [
            sample.value
            for sample in run.metrics[name].samples
            if sample.labels.items() >= labels.items() and sample.name in (name, f"{name}_count")
        ]
        return found

    assert value("scheduler_schedule_attempts_total", result="scheduled") == 12
    assert value("scheduler_schedule_attempts_total", result="unschedulable") == 2
    assert value("scheduler_pod_scheduling_attempts") == 12
    assert value("scheduler_preemption_attempts_total") == 2
    assert value("scheduler_preemption_victims") == 1
    pending = {
        queue: value("scheduler_pending_pods", queue=queue) for queue in ("active", "unschedulable", "gated")
    }
    assert pending == {"active": 0, "unschedulable": 2, "gated": 1}
    assert value("scheduler_unschedulable_pods", plugin="NodeResourcesFit") == 2
    # Every plugin was asked about every node that was left: as often as kube-scheduler's, its what-ifs aside.
    assert value("scheduler_plugin_evaluation_total", plugin="NodeResourcesFit", extension_point="Filter") == 42
    assert value("leader_election_master_status", name="kube-scheduler") == 1


def test_resources_of_pods_are_there(run: Run) -> None:
    """/metrics/resources."""
    wanted = SURFACE["metrics_resources"]

    assert sorted(run.resources) == wanted["names"]
    assert sorted(run.resources[wanted["names"][0]].samples[0].labels) == wanted["labels"]


# --- events and pods ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seen", SURFACE["events"], ids=lambda seen: str(seen["reason"]))
def test_events_are_as_recorded(run: Run, seen: Object) -> None:
    """In every field but names, times and the reporting instance."""
    ours = [event for event in run.events if event["reason"] == seen["reason"]]
    if seen["reason"] == "FailedScheduling":
        ours = [event for event in ours if event["regarding"]["name"] == "a13"]

    assert ours
    for event in ours:
        assert _comparable({**event, "apiVersion": "events.k8s.io/v1", "kind": "Event"}) == _comparable(seen)


def _comparable(event: Object) -> Object:
    """Without what differs from run to run."""
    compared = json.loads(json.dumps(event))
    for field in ("name", "uid", "resourceVersion", "creationTimestamp"):
        assert compared["metadata"].pop(field)
        if field != "creationTimestamp":
            assert compared["regarding"].pop(field)
    compared["metadata"].pop("managedFields", None)
    for field in ("eventTime", "deprecatedFirstTimestamp", "deprecatedLastTimestamp"):
        compared[field] = compared[field] is not None
    if "reportingInstance" in compared:
        assert compared["reportingInstance"].startswith("default-scheduler-")
        compared["reportingInstance"] = "default-scheduler-<host>"
    note = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "<uid>", compared["note"])
    note = re.sub(r"^\S+_<uid>", "<host>_<uid>", note)
    compared["note"] = re.sub(r"default/a\d+ to m\d", "<pod> to <node>", re.sub(r"on node m\d", "on <node>", note))
    return dict(compared)


@pytest.mark.parametrize("name", SURFACE["pod_status"])
def test_pod_statuses_are_as_recorded(run: Run, name: str) -> None:
    """Bound, unschedulable, gated, and nominated after a preemption."""

    def comparable(status: Object) -> Object:
        compared = json.loads(json.dumps(status))
        for condition in compared["conditions"]:
            condition.pop("lastTransitionTime")
            if "message" in condition:
                condition["message"] = re.sub(r"on node m\d,", "on <node>,", condition["message"])
        if "nominatedNodeName" in compared:
            compared["nominatedNodeName"] = "<node>"
        return dict(compared)

    shown = spared_pod(run.plane.api) if name == "a1" else name
    assert comparable(run.plane.api.get("Pod", shown)["status"]) == comparable(SURFACE["pod_status"][name])


# --- endpoints ----------------------------------------------------------------------------------------


#: kube-scheduler has no check of plugins that hang.
OWN_CHECKS = ("[+]scheduler-loop ok\n",)


@pytest.mark.parametrize("path", SURFACE["endpoints"])
def test_endpoints_answer_as_recorded(run: Run, path: str) -> None:
    """Administrators are answered; strangers see health only."""
    seen = SURFACE["endpoints"][path]

    assert run.api.raw("GET", path, accept="text/plain")[0] == seen.get("status", 200)
    if "verbose" in seen:
        lines = run.api.raw("GET", f"{path}?verbose")[1].decode().splitlines(keepends=True)
        assert "".join(line for line in lines if line not in OWN_CHECKS) == seen["verbose"]
    if "anonymous" in seen:
        assert status_for_a_stranger(run.port, path) == seen["anonymous"]


def test_client_certificates_of_the_cluster_are_known(run: Run) -> None:
    """The API server says whose they are, and what they may see: the scheduler itself may not see its metrics."""
    run.plane.kubeconfig_for("jane", groups=("system:monitoring",))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.load_cert_chain(run.plane.folder / "jane.crt", run.plane.folder / "jane.key")

    def status(path: str) -> int:
        connection = http.client.HTTPSConnection("127.0.0.1", run.port, context=tls, timeout=10)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    assert (status("/metrics"), status("/configz")) == (200, 403)


# --- flags --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SURFACE["flags"])
def test_every_flag_is_accepted_or_refused_with_a_reason(name: str) -> None:
    """The reason is in the docs; and the run of this file was given all of them with their defaults."""
    if name in ("help", "version"):
        assert CliRunner().invoke(main, ["run", f"--{name}"]).exit_code == 0
        return
    (flag,) = [flag for flag in FLAGS if flag.name == name]
    listed = (ROOT / "docs" / "flags.md").read_text()
    assert f"| `--{name}` |" in listed
    accepted = CliRunner().invoke(main, ["run", _as_given(flag), "--write-config-to=/dev/null"])
    if name not in ("config", "write-config-to"):
        assert accepted.exit_code == 0, accepted.output
    if flag.treatment == REFUSED:
        refused = CliRunner().invoke(main, ["run", f"--{name}=other", "--write-config-to=/dev/null"])
        assert refused.exit_code == 2
        assert f"--{name} is refused: {flag.note}" in refused.output
        assert f"{flag.note[:1].upper()}{flag.note[1:]}" in listed


# --- logs ---------------------------------------------------------------------------------------------


def test_log_tells_the_main_steps(run: Run) -> None:
    """In klog's text, with the words that kube-scheduler has for them, and in its order."""
    lines = (run.plane.folder / "bayplan.log").read_text().splitlines()
    of_a1 = [line.split("] ", 1)[1] for line in lines if 'pod="default/a1"' in line]

    assert all(
        re.match(r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \w+\.py:\d+\] ", line)
        for line in lines
        if line[:1] in "IWE"
    )
    added = release_named(chosen_release()).facts.event_label("UnschedulablePodAdd")
    assert of_a1[:5] == [
        '"Add event for unscheduled pod" pod="default/a1"',
        f'"Pod moved to an internal scheduling queue" pod="default/a1" event="{added}" queue="Active"',
        '"About to try and schedule pod" pod="default/a1"',
        '"Attempting to schedule pod" pod="default/a1"',
        f'"Attempting to bind pod to node" pod="default/a1" node="{_node_of(run, "a1")}"',
    ]
    bound = f'pod="default/a1" node="{_node_of(run, "a1")}" evaluatedNodes=3 feasibleNodes=3'
    assert {f'"Successfully bound pod to node" {bound}', '"Add event for scheduled pod" pod="default/a1"'} <= set(
        of_a1
    )
    message = SURFACE["pod_status"]["a13"]["conditions"][0]["message"]
    waiting = f'"Unable to schedule pod; no fit; waiting" pod="default/a13" err="{message}"'
    assert any(line.endswith(waiting) for line in lines)


def _node_of(run: Run, name: str) -> str:
    node_name: str = run.plane.api.get("Pod", name)["spec"]["nodeName"]
    return node_name
