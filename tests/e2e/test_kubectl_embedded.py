"""kubectl on the embedded cluster prints what it prints on a real one, apart from names and times.

Every command runs on both, for the same objects, with the kubectl of the control plane and with the machine's.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import yaml
from tests.e2e.api import Object, eventually
from tests.e2e.kubectl_objects import KINDS, LAMPS, NODES, OBJECTS, deployment, pod
from tests.e2e.kubectl_texts import normalised
from tests.e2e.kubectls import Both, Done, Kubectl, assert_same, programs
from tests.e2e.two_clusters import start_embedded, start_real

pytestmark = pytest.mark.e2e

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def kubeconfigs(
    programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Path]]:
    """Of a real cluster and of an embedded one, for all tests of this file."""
    with ExitStack() as stack:
        plane = start_real(tmp_path_factory.mktemp("real"), NODES, stack, programs)
        yield plane.kubeconfig, start_embedded(tmp_path_factory.mktemp("embedded"), NODES, stack)


@pytest.fixture(scope="session", params=["of the control plane", "of the machine"])
def both(
    request: pytest.FixtureRequest, kubeconfigs: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Both:
    program = programs().get(request.param)
    if program is None:
        pytest.skip("this machine has no kubectl of its own")
    folder = tmp_path_factory.mktemp("kubectl")
    real, embedded = (Kubectl(program, kubeconfig, folder / kubeconfig.parent.name) for kubeconfig in kubeconfigs)
    result = Both(real, embedded)
    result.each("wait", "--for=condition=Ready", "nodes", "--all", "--timeout=60s")
    return result


@pytest.fixture
def namespace(both: Both) -> Iterator[str]:
    """A namespace of the test's own, the same on both sides."""
    name = f"t{next(_NUMBERS)}"
    both.each("create", "namespace", name)
    yield name
    both.each("delete", "namespace", name, "--wait=false")


@pytest.fixture
def running_pod(both: Both, namespace: str) -> str:
    """A pod that runs, and is Ready."""
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(pod("p")))
    both.each("-n", namespace, "wait", "--for=condition=Ready", "pod/p", "--timeout=60s")
    return "p"


@pytest.fixture
def running_deployment(both: Both, namespace: str) -> str:
    """A Deployment whose pods run on one node."""
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(deployment("web")))
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    return "web"


# --- get ------------------------------------------------------------------------------------------

FORMS = {
    "table": [],
    "wide": ["-o", "wide"],
    "yaml": ["-o", "yaml"],
    "json": ["-o", "json"],
    "name": ["-o", "name"],
    "jsonpath": [
        "-o",
        "jsonpath={.metadata.name} {.spec.nodeName}{range .status.conditions[*]} {.type}={.status}{end}",
    ],
    "custom columns": ["-o", "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,PHASE:.status.phase"],
    "go template": ["-o", "go-template={{.metadata.name}}{{range .spec.containers}} {{.image}}{{end}}"],
    "labels": ["--show-labels"],
    "no headers": ["--no-headers"],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
def test_get_one_pod(both: Both, namespace: str, running_pod: str, form: list[str]) -> None:
    """One object in every form of output."""
    both.at_rest("-n", namespace, "get", "pod", running_pod, *form)


def test_owners_of_fields(both: Both, namespace: str, running_pod: str) -> None:
    """Who wrote what, creation and status alike."""
    # The status is written in parts.
    real, embedded = (partial(_owners, kubectl, namespace, "pod", running_pod) for kubectl in both.clusters)
    eventually(lambda: real() == embedded())
    told = real()
    assert set(told) == {("kubectl-create", "Update", ""), ("bayplan", "Update", "status")}


def _owners(kubectl: Kubectl, namespace: str, kind: str, name: str) -> dict[tuple[str, ...], str]:
    """The fields of each manager. Their order goes by the seconds in which they wrote, so it says nothing."""
    done = kubectl.run("-n", namespace, "get", kind, name, "-o", "json", "--show-managed-fields")
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): normalised(
            json.dumps(entry["fieldsV1"])
        )
        for entry in json.loads(done.out)["metadata"]["managedFields"]
    }


LIST_FORMS = {
    "table": [],
    "wide": ["-o", "wide"],
    "yaml": ["-o", "yaml"],
    "json": ["-o", "json"],
    "name": ["-o", "name"],
    "jsonpath": ["-o", "jsonpath={range .items[*]}{.metadata.name} {end}"],
    "custom columns": ["-o", "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName"],
    "go template": ["-o", "go-template={{range .items}}{{.metadata.name}} {{end}}"],
    "all namespaces": ["-A", "--field-selector=metadata.name=p"],
    "label selector": ["-l", "app in (p, q),!other"],
    "label column": ["-L", "app"],
    "sorted": ["--sort-by=.metadata.name"],
    "nothing found": ["-l", "app=nobody"],
}


@pytest.mark.parametrize("form", LIST_FORMS.values(), ids=LIST_FORMS.keys())
def test_get_pods(both: Both, namespace: str, running_pod: str, form: list[str]) -> None:
    """A list in every form of output."""
    scope = [] if "-A" in form else ["-n", namespace]
    if "-A" in form:  # pods of other tests have the same name
        form = [*form, f"--field-selector=metadata.name={running_pod},metadata.namespace={namespace}"]
    both.at_rest(*scope, "get", "pods", *form)


@pytest.mark.parametrize("kind", ["deployments", "replicasets", "pods", "all"])
@pytest.mark.parametrize("form", [[], ["-o", "wide"]], ids=["table", "wide"])
def test_get_workload(both: Both, namespace: str, running_deployment: str, kind: str, form: list[str]) -> None:
    """A Deployment and what belongs to it."""
    both.at_rest("-n", namespace, "get", kind, *form)


def test_get_deployment_as_yaml(both: Both, namespace: str, running_deployment: str) -> None:
    """All that the API server and the controllers wrote into it."""
    both.at_rest("-n", namespace, "get", "deployment", running_deployment, "-o", "yaml")


def test_get_nodes(both: Both) -> None:
    """Nodes as the kubelets report them."""
    both.at_rest("get", "nodes")
    both.at_rest("get", "nodes", "-o", "wide")
    both.at_rest("get", "node", "a", "-o", "yaml")
    both.at_rest("get", "nodes", "-L", "topology.kubernetes.io/zone", "--sort-by=.metadata.name")


def test_get_other_kinds(both: Both, namespace: str) -> None:
    """Tables of the kinds that a user of a scheduler meets, made from one file of all of them."""
    both("-n", namespace, "create", "-f", "-", stdin=OBJECTS)
    for kind in KINDS:
        both.at_rest("-n", namespace, "get", kind)
        both.at_rest("-n", namespace, "get", kind, "-o", "wide")


def test_get_what_is_not_there(both: Both, namespace: str) -> None:
    """Errors are the same words."""
    both.at_rest("-n", namespace, "get", "pod", "nobody", code=1)
    both.at_rest("-n", namespace, "get", "pods")
    both.at_rest("get", "nonsense", code=1)
    both.at_rest("-n", "nowhere", "get", "pods")


def test_get_and_watch(both: Both, namespace: str) -> None:
    """A watch prints a line for every change, as the table has it."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "first"}, "data": {"a": "1"}}
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(config))
    second = json.dumps({**config, "metadata": {"name": "second"}, "data": {}})

    def meanwhile(kubectl: Kubectl) -> None:
        kubectl.run("-n", namespace, "create", "-f", "-", stdin=second)
        kubectl.run("-n", namespace, "patch", "configmap", "second", "-p", '{"data":{"b":"2","c":"3"}}')
        kubectl.run("-n", namespace, "delete", "configmap", "second")

    seen = both.watch(
        "-n",
        namespace,
        "get",
        "configmaps",
        "-w",
        "--output-watch-events",
        "--field-selector=metadata.name!=kube-root-ca.crt",
        n_lines=5,
        meanwhile=meanwhile,
    )
    assert [line.split()[0] for line in seen.splitlines()] == ["EVENT", "ADDED", "ADDED", "MODIFIED", "DELETED"]


# --- describe -------------------------------------------------------------------------------------


def test_describe_pod(both: Both, namespace: str, running_pod: str) -> None:
    """A running pod, with the event of its scheduling."""
    both.at_rest("-n", namespace, "describe", "pod", running_pod)


def test_describe_pending_pod(both: Both, namespace: str) -> None:
    """A pod that fits nowhere, with the scheduler's message."""
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(pod("p", "nowhere")))
    both.each("-n", namespace, "wait", "--for=condition=PodScheduled=False", "pod/p", "--timeout=60s")
    both.each("-n", namespace, "wait", "--for=create", "event", "--all", "--timeout=60s")
    both.at_rest("-n", namespace, "describe", "pod", "p")


def test_describe_node(both: Both, namespace: str, running_pod: str) -> None:
    """A node with the pod that runs on it. Other tests' pods are on other nodes, or gone."""
    both.each("-n", namespace, "delete", "pod", running_pod)
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(pod("only", "b")))
    both.each("-n", namespace, "wait", "--for=condition=Ready", "pod/only", "--timeout=60s")
    both.at_rest("describe", "node", "b")


def test_describe_deployment(both: Both, namespace: str, running_deployment: str) -> None:
    """A Deployment, its conditions and its ReplicaSets."""
    both.at_rest("-n", namespace, "describe", "deployment", running_deployment)


# --- apply ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [[], ["--server-side"]], ids=["from the client's side", "from the server's side"])
def test_apply(both: Both, namespace: str, mode: list[str]) -> None:
    """Create, nothing to do, a change, a container more, one less; the object after each."""
    manifest = deployment("web", replicas=1)

    def apply(changed: Object) -> None:
        both("-n", namespace, "apply", *mode, "-f", "-", stdin=yaml.safe_dump(changed))
        both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
        spec = "jsonpath={.metadata.generation} {.metadata.annotations} {.spec}"
        both.at_rest("-n", namespace, "get", "deployment", "web", "-o", spec)

    apply(manifest)
    apply(manifest)
    manifest["spec"]["replicas"] = 2
    apply(manifest)
    containers = manifest["spec"]["template"]["spec"]["containers"]
    containers.insert(0, {"name": "side", "image": "side:1", "env": [{"name": "A", "value": "1"}]})
    apply(manifest)
    containers[0]["env"].append({"name": "B", "value": "2"})
    manifest["metadata"]["labels"] = {"team": "x"}
    apply(manifest)
    del containers[0]
    del manifest["metadata"]["labels"]
    apply(manifest)


def test_apply_from_one_side_then_from_the_other(both: Both, namespace: str) -> None:
    """kubectl hands its fields over from the annotation to the server without a conflict."""
    manifest = deployment("web", replicas=1)
    both("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(manifest))
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    manifest["spec"]["replicas"] = 2
    both("-n", namespace, "apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(manifest))
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    told = [_owners(kubectl, namespace, "deployment", "web") for kubectl in both.clusters]
    mine = ("kubectl", "Apply", "")
    assert told[0][mine] == told[1][mine]
    assert not any(manager == "kubectl-client-side-apply" for manager, _, _ in told[1])
    manifest["spec"]["replicas"] = 1
    both("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(manifest))


def test_apply_with_a_conflict(both: Both, namespace: str) -> None:
    """What another manager owns is a conflict until it is forced."""
    manifest = deployment("web", replicas=1)
    both("-n", namespace, "apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(manifest))
    both("-n", namespace, "scale", "deployment/web", "--replicas=2")
    manifest["spec"]["replicas"] = 3
    server_side = ["-n", namespace, "apply", "--server-side", "-f", "-"]
    both(*server_side, stdin=yaml.safe_dump(manifest), code=1)
    both(*server_side, "--force-conflicts", stdin=yaml.safe_dump(manifest))


def test_apply_what_is_wrong(both: Both, namespace: str) -> None:
    """Unknown fields and bad values are refused from either side."""
    manifest = deployment("web")
    manifest["spec"]["replica"] = 1
    both("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(manifest), code=1)
    both("-n", namespace, "apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(manifest), code=1)
    manifest = deployment("web")
    manifest["spec"]["selector"]["matchLabels"]["app"] = "other"
    both("-n", namespace, "apply", "-f", "-", stdin=yaml.safe_dump(manifest), code=1)


def test_dry_run_and_diff(both: Both, namespace: str) -> None:
    """The server says what would be, and nothing is."""
    manifest = yaml.safe_dump(deployment("web"))
    both("-n", namespace, "apply", "--dry-run=server", "-f", "-", stdin=manifest)
    both.at_rest("-n", namespace, "get", "deployments")


# --- writes ---------------------------------------------------------------------------------------


def test_create_and_scale_a_deployment(both: Both, namespace: str) -> None:
    """From nothing to three pods and back to one."""
    both("-n", namespace, "create", "deployment", "web", "--image=nginx:1.27", "--replicas=1", "--port=80")
    both("-n", namespace, "create", "deployment", "web", "--image=nginx:1.27", code=1)
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    both("-n", namespace, "scale", "deployment", "web", "--replicas=3")
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    both.at_rest("-n", namespace, "get", "deployment", "web")
    both("-n", namespace, "scale", "deployment", "web", "--replicas=1", "--current-replicas=7", code=1)
    both("-n", namespace, "scale", "deployment", "web", "--replicas=1")


def test_rollout(both: Both, namespace: str, running_deployment: str) -> None:
    """A new image is rolled out, and the old one comes back."""
    both.at_rest("-n", namespace, "rollout", "status", "deployment/web")
    both("-n", namespace, "set", "image", "deployment/web", "main=pause:3.10")
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    both.at_rest("-n", namespace, "rollout", "history", "deployment/web")
    both("-n", namespace, "rollout", "undo", "deployment/web")
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    both("-n", namespace, "rollout", "restart", "deployment/web")
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")


def test_label_and_annotate(both: Both, namespace: str, running_pod: str) -> None:
    """Labels are added, kept from being overwritten, overwritten, removed."""
    both("-n", namespace, "label", "pod", "p", "tier=front")
    both("-n", namespace, "label", "pod", "p", "tier=back", code=1)
    both("-n", namespace, "label", "pod", "p", "tier=back", "--overwrite")
    both("-n", namespace, "label", "pod", "p", "tier-")
    both("-n", namespace, "label", "pod", "p", "bad key=x", code=1)
    both("-n", namespace, "label", "pod", "p", "bad=-x-", code=1)
    both("-n", namespace, "annotate", "pod", "p", "note=hello there")
    both.at_rest("-n", namespace, "get", "pod", "p", "-o", "jsonpath={.metadata.labels} {.metadata.annotations}")


def test_taint(both: Both) -> None:
    """Taints of a node come and go."""
    both("taint", "node", "spare", "dedicated=x:NoSchedule")
    both("taint", "node", "spare", "dedicated=x:NoSchedule", code=1)
    both("taint", "node", "spare", "dedicated=y:NoSchedule", "--overwrite")
    both.at_rest("get", "node", "spare", "-o", "jsonpath={.spec.taints}")
    both("taint", "node", "spare", "dedicated=y:Never", code=1)
    both("taint", "node", "spare", "dedicated-")
    both("taint", "node", "spare", "dedicated-", code=1)


def test_cordon(both: Both) -> None:
    """A node is taken out of scheduling and put back."""
    both("cordon", "spare")
    both("cordon", "spare")
    both.at_rest("get", "node", "spare")
    both("uncordon", "spare")
    both("uncordon", "spare")


def test_drain(both: Both, namespace: str) -> None:
    """A Deployment's pods are evicted; a pod without a controller is not, unless forced."""
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(deployment("web", "spare", 1)))
    both.each("-n", namespace, "rollout", "status", "deployment/web", "--timeout=60s")
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(pod("alone", "spare")))
    both.each("-n", namespace, "wait", "--for=condition=Ready", "pod/alone", "--timeout=60s")
    try:
        both("drain", "spare", "--ignore-daemonsets", "--timeout=60s", code=1)
        both("drain", "spare", "--ignore-daemonsets", "--force", "--timeout=60s", is_sorted=True)
        both.at_rest("-n", namespace, "get", "deployment", "web")
    finally:
        both.each("uncordon", "spare")


def test_drain_held_up_by_a_budget(both: Both, namespace: str, running_deployment: str) -> None:
    """An eviction that the budget does not allow is refused with its words."""
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    }
    both.each("-n", namespace, "create", "-f", "-", stdin=json.dumps(budget))
    both.each("-n", namespace, "wait", "--for=jsonpath={.status.currentHealthy}=2", "pdb/all", "--timeout=60s")
    both.at_rest("-n", namespace, "get", "pdb")
    both.at_rest("-n", namespace, "describe", "pdb", "all")


def test_delete(both: Both, namespace: str, running_pod: str, running_deployment: str) -> None:
    """Deleted by name, by label, by file, twice, with what belongs to it."""
    both("-n", namespace, "delete", "pod", "p")
    both("-n", namespace, "delete", "pod", "p", code=1)
    both("-n", namespace, "delete", "pod", "p", "--ignore-not-found")
    both("-n", namespace, "delete", "-f", "-", stdin=json.dumps(deployment("web")))
    both.each("-n", namespace, "wait", "--for=delete", "pod", "-l", "app=web", "--timeout=60s")
    both.at_rest("-n", namespace, "get", "all")
    both("-n", namespace, "create", "-f", "-", stdin=OBJECTS)
    both("-n", namespace, "delete", "configmap", "settings", "--dry-run=server")
    both("-n", namespace, "delete", "secret", "--all")
    both("-n", namespace, "delete", "role,rolebinding", "reader", "readers", code=1)


def test_delete_a_namespace(both: Both) -> None:
    """A namespace goes with all that is in it."""
    name = f"gone{next(_NUMBERS)}"
    both("create", "namespace", name)
    both("create", "namespace", name, code=1)
    both("-n", name, "create", "-f", "-", stdin=OBJECTS)
    both("delete", "namespace", name)
    both.at_rest("get", "namespace", name, code=1)


def test_wait(both: Both, namespace: str, running_pod: str) -> None:
    """Conditions that hold, that come, and that do not."""
    both("-n", namespace, "wait", "--for=condition=Ready", "pod/p", "--timeout=60s")
    both("-n", namespace, "wait", "--for=jsonpath={.status.phase}=Running", "pod/p", "--timeout=60s")
    both("-n", namespace, "wait", "--for=condition=Nonsense", "pod/p", "--timeout=3s", code=1)
    both("-n", namespace, "wait", "--for=condition=Ready", "pod/nobody", "--timeout=3s", code=1)
    both.each("-n", namespace, "delete", "pod", "p", "--wait=false")
    both.each("-n", namespace, "wait", "--for=delete", "pod/p", "--timeout=60s")


def test_patch(both: Both, namespace: str, running_deployment: str) -> None:
    """The three formats of patches from the command line."""
    both("-n", namespace, "patch", "deployment", "web", "-p", '{"spec":{"replicas":1}}')
    # "(no change)", unless the controller has written the status meanwhile.
    both.at_rest("-n", namespace, "patch", "deployment", "web", "-p", '{"spec":{"replicas":1}}')
    both("-n", namespace, "patch", "deployment", "web", "--type=merge", "-p", '{"metadata":{"labels":{"a":"b"}}}')
    remove = '[{"op":"remove","path":"/metadata/labels/a"}]'
    both("-n", namespace, "patch", "deployment", "web", "--type=json", "-p", remove)
    both("-n", namespace, "patch", "deployment", "web", "--type=json", "-p", remove, code=1)


# --- about the cluster ----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["pod", "pod.spec.containers", "deployment.spec.strategy", "node.status"])
def test_explain(both: Both, path: str) -> None:
    """Fields with their descriptions, from the published schemas."""
    # The published descriptions do not say in words what each value of an enumeration means.
    told = [_without_values(kubectl.run("explain", path)) for kubectl in both.clusters]
    assert_same(["explain", path], *told)


def _without_values(done: Done) -> str:
    assert done.code == 0, done.err
    text = re.sub(r"\n +Possible enum values:\n(.+\n)+", "", done.out)
    return re.sub(r"\n\s*\n", "\n", text).rstrip()


def test_explain_all_of_a_kind(both: Both) -> None:
    """The tree of a kind."""
    both.at_rest("explain", "poddisruptionbudget", "--recursive")
    both.at_rest("explain", "pod.spec.nonsense", code=1)


def test_api_resources(both: Both) -> None:
    """Every kind that the embedded cluster has is as the real one tells of it; it has fewer."""
    for arguments in ([], ["-o", "wide"]):
        told = [
            {line.strip() for line in _columns(kubectl.run("api-resources", *arguments).out)}
            for kubectl in both.clusters
        ]
        # The groups of the scheduler-plugins family are ours, not every cluster's.
        ours = {line for line in told[1] if ".x-k8s.io/" not in line}
        assert ours <= told[0], ours - told[0]
    names = {line.split()[0] for line in told[1]}
    assert {"pods", "nodes", "deployments", "jobs", "events", "leases", "customresourcedefinitions"} <= names


def _columns(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()[1:]]


def test_get_events(both: Both, namespace: str, running_deployment: str) -> None:
    """What happened in a namespace, as kubectl's own table and as the server's."""
    both.at_rest("-n", namespace, "get", "events", is_sorted=True)
    both.at_rest("-n", namespace, "events", is_sorted=True)


def test_auth(both: Both, namespace: str) -> None:
    """What the administrator and others may do."""
    both.at_rest("auth", "can-i", "create", "pods")
    both.at_rest("auth", "can-i", "*", "*")
    both("-n", namespace, "create", "-f", "-", stdin=OBJECTS)
    as_someone = ["-n", namespace, "auth", "can-i", f"--as=system:serviceaccount:{namespace}:someone"]
    both.at_rest(*as_someone, "get", "pods")
    both.at_rest(*as_someone, "delete", "pods", code=1)
    both.at_rest("auth", "can-i", "get", "pods", "--as=nobody", code=1)


def test_custom_resources(both: Both, namespace: str) -> None:
    """A new kind is there as soon as it is established, with its columns."""
    lamp: Object = {
        "apiVersion": "example.com/v1",
        "kind": "Lamp",
        "metadata": {"name": "l"},
        "spec": {"watts": 60},
    }
    both("apply", "-f", "-", stdin=yaml.safe_dump(LAMPS))
    try:
        both("wait", "--for=condition=Established", "crd/lamps.example.com", "--timeout=60s")
        # Discovery follows.
        both.at_rest("-n", namespace, "get", "lamps")
        both("-n", namespace, "apply", "-f", "-", stdin=json.dumps(lamp))
        both.at_rest("-n", namespace, "get", "lamps")
        lamp["spec"]["watts"] = 40
        both("-n", namespace, "apply", "-f", "-", stdin=json.dumps(lamp))
        both("-n", namespace, "apply", "--server-side", "-f", "-", stdin=json.dumps(lamp))
        both.at_rest("-n", namespace, "get", "lp", "l", "-o", "yaml")
        lamp["spec"]["watts"] = 400
        both("-n", namespace, "apply", "-f", "-", stdin=json.dumps(lamp), code=1)
        both("-n", namespace, "delete", "lamp", "l")
    finally:
        both("delete", "crd", "lamps.example.com")


def test_version(both: Both) -> None:
    """The server says which Kubernetes it is."""
    both.at_rest("version")
