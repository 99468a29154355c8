"""The printed rights on a real API server: they are enough, and each of them is needed.

Every case is a deployment of its own on one control plane: its own name, account, Lease and node. So one can be
without a right that the others have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest
import yaml
from tests.e2e.api import Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.deployed import of_kind, printed
from tests.e2e.family_harness import is_established
from tests.e2e.objects import node, pod
from tests.e2e.request_audit import Asked, RequestAudit
from tests.e2e.rights_scenarios import LOOK_UP, SERVED, Case, Reads, Scenario
from tests.e2e.seen import bound_to, events

from bayplan.controllers.crds import definitions
from bayplan.deployment.permissions import AUTHENTICATION_READER

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
BASE: list[Object] = list(
    yaml.safe_load_all((ROOT / "deploy" / "kustomize" / "base" / "bayplan.yaml").read_text())
)
PLUGIN = '''
"""Only nodes with the label cpu=true will do."""

from bayplan import Action, ClusterEvent, Plugin, Resource, Status


class CpuNodes(Plugin):
    name = "sample"
    events_to_register = (ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),)

    def filter(self, state, pod, node):
        if node.labels.get("cpu") != "true":
            return Status.unschedulable("no cpu=true")
'''


def _grants(rule: Object) -> list[Asked]:
    """Everything that a rule lets one do."""
    return [
        Asked(group, resource, verb)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def _rules(objects: Sequence[Object]) -> list[Object]:
    return [rule for kind in ("ClusterRole", "Role") for rule in of_kind(objects, kind)["rules"]]


def _scenario(first: Asked) -> Scenario:
    return Reads() if first.verb == "list" else SERVED[first]


#: Rights that no request asks for: they decide what other requests may contain.
WITHIN_REQUESTS = "resourceclaims/binding"
RULES = [_grants(rule) for rule in _rules(BASE)]


# --- the control plane ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> RequestAudit:
    return RequestAudit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def plane(
    programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, audit: RequestAudit
) -> Iterator[ControlPlane]:
    """With a Prometheus that may read metrics."""
    folder = tmp_path_factory.mktemp("deployment")
    with ControlPlane(folder, programs=programs, api_server_arguments=audit.arguments) as plane:
        account = {"kind": "ServiceAccount", "name": "prometheus", "namespace": "kube-system"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:monitoring"}
        metadata = {"name": "prometheus", "namespace": "kube-system"}
        plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        plane.api.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "prometheus"},
                "roleRef": role,
                "subjects": [account],
            }
        )
        yield plane


@pytest.fixture(scope="module")
def numbers() -> Iterator[int]:
    return count()


@pytest.fixture
def deploy(
    plane: ControlPlane, audit: RequestAudit, numbers: Iterator[int], tmp_path: Path
) -> Iterator[Callable[..., Case]]:
    """Starts a deployment, printed with further arguments, whose objects *change* may have changed."""
    plugin = tmp_path / "sample.py"
    plugin.write_text(PLUGIN)

    def start(change: Callable[[list[Object]], None] = lambda objects: None, *arguments: str) -> Case:
        objects = printed(f"--name=case-{next(numbers)}", f"--plugin={plugin}:CpuNodes", *arguments)
        change(objects)
        case = Case(plane, objects, audit)
        case.start()
        return case

    yield start
    plane.end_components()


# --- the rights are what is needed ------------------------------------------------------------------------


def test_rights_are_what_is_asked_for(deploy: Callable[..., Case]) -> None:
    """Everything works, nothing is refused, and every single verb on every resource was made use of."""
    case = deploy()
    case.wait_ready()
    for scenario in dict.fromkeys(SERVED.values()):
        scenario.act(case)
        _wait_for(scenario, case)
    granted = [each for rule in _rules(case.objects) for each in _grants(rule)] + [LOOK_UP]
    granted = [each for each in granted if each.resource != WITHIN_REQUESTS]
    with contextlib.suppress(AssertionError):  # a Lease is renewed only after a while
        eventually(lambda: case.asked() >= set(granted))
    assert case.asked() == set(granted)
    assert case.refused() == set()
    assert len(granted) == len(set(granted)), "what two rules grant is not taken away with one of them"


def test_controllers_have_their_rights(plane: ControlPlane, deploy: Callable[..., Case]) -> None:
    """With `--controllers` the status of both kinds is kept, and what that adds to the rights is made use of."""
    plane.api.create_many(definitions())
    for definition in definitions():
        eventually(lambda name=definition["metadata"]["name"]: is_established(plane.api, name))  # type: ignore[misc]
    group, quota = _of_family("PodGroup", {"minMember": 2}), _of_family("ElasticQuota", {"max": {"cpu": "4"}})
    plane.api.create_many([group, quota])

    case = deploy(lambda objects: None, "--controllers")
    case.wait_ready()

    for kind in ("PodGroup", "ElasticQuota"):
        eventually(lambda kind=kind: plane.api.get(kind, "family").get("status"))  # type: ignore[misc]
    before = {each for rule in RULES for each in rule}
    added = {each for rule in of_kind(case.objects, "ClusterRole")["rules"] for each in _grants(rule)} - before
    eventually(lambda: case.asked() >= added)
    assert case.refused() == set()


WATCHER = '''
"""Nodes will do as soon as the ConfigMap `limits` and the Secret `token` are there."""

from bayplan import ConfigMap, Plugin, Secret, Status


class Watcher(Plugin):
    name = "Watcher"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.limits = handle.informers.lister(ConfigMap, fields="metadata.name=limits")
        self.tokens = handle.informers.lister(Secret, namespace="default", fields="metadata.name=token")

    def filter(self, state, pod, node):
        if not (self.limits.list() and self.tokens.list()):
            return Status.unresolvable("something is missing")
'''


def test_a_part_of_a_resource_is_watched_with_a_right_to_that_part(
    plane: ControlPlane, deploy: Callable[..., Case], tmp_path: Path
) -> None:
    """One ConfigMap by name, one Secret by name in one namespace; others may not be listed, and are not."""
    (tmp_path / "watcher.py").write_text(WATCHER)
    case = deploy(lambda objects: None, f"--plugin={tmp_path / 'watcher.py'}:Watcher")
    case.wait_ready()
    waiting = node(f"{case.name}-watcher"), pod(f"{case.name}-watcher", scheduler=case.name)
    plane.api.create_many([*waiting])
    eventually(lambda: events(plane.api, f"{case.name}-watcher"))
    for kind, name in (("ConfigMap", "limits"), ("Secret", "token"), ("Secret", "other")):
        metadata = {"name": name, "namespace": "default"}
        plane.api.create({"apiVersion": "v1", "kind": kind, "metadata": metadata})

    plane.api.patch("Node", f"{case.name}-watcher", {"metadata": {"labels": {"cpu": "true"}}})
    eventually(lambda: bound_to(plane.api, f"{case.name}-watcher"))
    assert case.refused() == set()


def _wait_for(scenario: Scenario, case: Case) -> None:
    try:
        eventually(lambda: scenario.is_done(case))
    except AssertionError as error:
        raise AssertionError(f"{type(scenario).__name__}: {error}\n{case.process.tail()}") from error


@pytest.mark.parametrize("i", range(len(RULES)), ids=[f"{each[0].verb} {each[0].resource}" for each in RULES])
def test_each_rule_is_needed(deploy: Callable[..., Case], i: int) -> None:
    """Without it a request is refused, and what the rule is for does not come about."""
    n_cluster_wide = len(of_kind(BASE, "ClusterRole")["rules"])

    def take_away(objects: list[Object]) -> None:
        kind, position = ("ClusterRole", i) if i < n_cluster_wide else ("Role", i - n_cluster_wide)
        taken = of_kind(objects, kind)["rules"].pop(position)
        assert _grants(taken) == RULES[i]

    if RULES[i][0].resource == WITHIN_REQUESTS:
        _check_unfinished(deploy(take_away), RULES[i][0])
    else:
        _check_refused(deploy(take_away), RULES[i], _scenario(RULES[i][0]))


def _check_unfinished(case: Case, right: Asked) -> None:
    """The request is allowed, but what it contains is not: the pod's events say so."""
    scenario = SERVED[right]
    case.wait_ready()
    scenario.act(case)
    eventually(lambda: any(right.resource in each["note"] for each in events(case.api, f"{case.name}-device")))
    assert case.refused() == set()
    assert not scenario.is_done(case)


def test_the_bound_role_is_needed(deploy: Callable[..., Case]) -> None:
    """Without the role that every cluster has, nobody's certificate is believed."""

    def take_away(objects: list[Object]) -> None:
        objects[:] = [each for each in objects if each.get("roleRef", {}).get("name") != AUTHENTICATION_READER]

    _check_refused(deploy(take_away), [LOOK_UP], SERVED[LOOK_UP])


def _check_refused(case: Case, taken: list[Asked], scenario: Scenario) -> None:
    if not isinstance(scenario, Reads):
        case.wait_ready()
    scenario.act(case)

    def refused() -> set[Asked]:
        scenario.is_done(case)
        return case.refused()

    assert eventually(refused) <= set(taken)
    assert not scenario.is_done(case)


def _of_family(kind: str, spec: Object) -> Object:
    metadata = {"name": "family", "namespace": "default"}
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
