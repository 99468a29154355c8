"""The printed manifests on a real API server: it takes them, and each of their rights is needed.

Every case is a deployment of its own on one control plane: its own name, account, Lease and node. So one can be
without a right that the others have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import count
from pathlib import Path

import pytest
import yaml
from tests.e2e.api import ApiError, Object, eventually
from tests.e2e.certificates import Pair
from tests.e2e.control_plane import ControlPlane
from tests.e2e.deployed import Deployed, of_kind, printed, token_of
from tests.e2e.deployed import found as looked_up
from tests.e2e.objects import node, pod
from tests.e2e.request_audit import Asked, RequestAudit
from tests.e2e.seen import bound_to, condition, events

from bayplan.deployment.rights import AUTHENTICATION_READER

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
#: Of the role that every cluster has; the manifests bind it.
LOOK_UP = Asked("", "configmaps", "get")
SECONDS = 60.0


class Case(Deployed):
    """A deployment, with a node that its pods go to."""

    def __init__(self, plane: ControlPlane, objects: list[Object], audit: RequestAudit) -> None:
        super().__init__(plane, objects)
        self.api, self._audit = plane.api, audit
        self.api.create(node(self.name, cpu="2", labels={"cpu": "true"}))

    def pod(self, name: str, *, on: str = "", **fields: object) -> Object:
        """One of ours that goes to our node, or to node *on*."""
        selector = {"kubernetes.io/hostname": on or self.name}
        return pod(f"{self.name}-{name}", scheduler=self.name, nodeSelector=selector, **fields)  # type: ignore[arg-type]

    @cached_property
    def reader(self) -> Pair:
        return self.plane.authority.client(self.name, user="reader", groups=["system:monitoring"])

    def is_bound(self, name: str) -> bool:
        return bound_to(self.api, f"{self.name}-{name}") is not None

    def asked(self) -> set[Asked]:
        return self._audit.asked(self.user)

    def refused(self) -> set[Asked]:
        return self._audit.refused(self.user)


# --- what the rights are for: `act` sets the scene, `is_done` tells whether it came to its end ---------------


class Scenario:
    def act(self, case: Case) -> None:
        """Nothing more than to run."""

    def is_done(self, case: Case) -> bool:
        raise NotImplementedError


class Reads(Scenario):
    """The cluster is read, and then watched."""

    def is_done(self, case: Case) -> bool:
        return case.is_ready()


class Binds(Scenario):
    def act(self, case: Case) -> None:
        case.api.create(case.pod("bound"))

    def is_done(self, case: Case) -> bool:
        return case.is_bound("bound")


class LooksUpLostBind(Scenario):
    """A bind that is answered with 500 may have happened all the same."""

    def act(self, case: Case) -> None:
        case.api.create(_namespace(case.name))
        case.api.create(_broken_webhook(case.name))
        case.api.create(pod("probe", namespace=case.name, scheduler="nobody"))
        eventually(lambda: _breaks_binds(case))
        case.api.create(case.pod("lost", namespace=case.name))

    def is_done(self, case: Case) -> bool:
        return Asked("", "pods", "get") in case.asked() - case.refused()


class TellsWhy(Scenario):
    def act(self, case: Case) -> None:
        case.api.create(case.pod("waiting", on="nowhere"))

    def is_done(self, case: Case) -> bool:
        return condition(case.api.get("Pod", f"{case.name}-waiting")) is not None


class Evicts(Scenario):
    def act(self, case: Case) -> None:
        case.api.create(case.pod("victim", cpu="1500m"))
        eventually(lambda: case.is_bound("victim"), timeout=SECONDS)
        case.api.create(case.pod("urgent", cpu="1500m", priorityClassName="system-node-critical"))

    def is_done(self, case: Case) -> bool:
        victim = looked_up(lambda: case.api.get("Pod", f"{case.name}-victim"))
        return victim is None or "deletionTimestamp" in victim["metadata"]


class BindsVolumes(Scenario):
    """One claim has a volume waiting for it, another one waits for its provisioner."""

    def act(self, case: Case) -> None:
        for name, provisioner in (("static", "kubernetes.io/no-provisioner"), ("dynamic", "example.com/disks")):
            case.api.create(_storage_class(f"{case.name}-{name}", provisioner))
            case.api.create(_claim(f"{case.name}-{name}"))
        case.api.create(_volume(f"{case.name}-static", case.name))
        for name in ("static", "dynamic"):
            claim = {"persistentVolumeClaim": {"claimName": f"{case.name}-{name}"}}
            case.api.create(case.pod(name, volumes=[{"name": "data", **claim}]))

    def is_done(self, case: Case) -> bool:
        volume = case.api.get("PersistentVolume", f"{case.name}-static")
        claim = case.api.get("PersistentVolumeClaim", f"{case.name}-dynamic")
        selected = claim["metadata"].get("annotations", {}).get("volume.kubernetes.io/selected-node")
        return "claimRef" in volume["spec"] and selected == case.name


class TellsTwice(Scenario):
    """What is said again becomes a series."""

    def act(self, case: Case) -> None:
        other = f"{case.name}-other"
        case.api.create(node(other))
        case.api.create(case.pod("told", on=other))
        eventually(lambda: condition(case.api.get("Pod", f"{case.name}-told")), timeout=SECONDS)
        case.api.patch("Node", other, {"metadata": {"labels": {"disk": "fast"}}})

    def is_done(self, case: Case) -> bool:
        return any("series" in each for each in events(case.api, f"{case.name}-told"))


class Leads(Scenario):
    def is_done(self, case: Case) -> bool:
        lease = looked_up(lambda: case.api.get("Lease", case.name, namespace="kube-system"))
        return lease is not None and bool(lease["spec"].get("holderIdentity"))


class TellsWhoLeads(Scenario):
    def is_done(self, case: Case) -> bool:
        told = case.api.list("v1/Event", namespace="kube-system")
        return any(each["involvedObject"]["name"] == case.name for each in told)


class ServesMetricsToAccounts(Scenario):
    """Prometheus shows a token."""

    def is_done(self, case: Case) -> bool:
        return case.status("/metrics", token=token_of(case.plane, "prometheus")) == 200


class ServesMetricsToCertificates(Scenario):
    """Somebody of the group that may read metrics shows a certificate."""

    def is_done(self, case: Case) -> bool:
        return case.status("/metrics", client=case.reader) == 200


#: Group, resource and verb that a rule begins with → what it is for. A rule that nobody needs is not here.
SERVED: dict[Asked, Scenario] = {
    Asked("", "pods/binding", "create"): Binds(),
    Asked("", "pods", "get"): LooksUpLostBind(),
    Asked("", "pods/status", "patch"): TellsWhy(),
    Asked("", "pods", "delete"): Evicts(),
    Asked("", "persistentvolumeclaims", "update"): BindsVolumes(),
    Asked("events.k8s.io", "events", "create"): TellsTwice(),
    Asked("authentication.k8s.io", "tokenreviews", "create"): ServesMetricsToAccounts(),
    Asked("authorization.k8s.io", "subjectaccessreviews", "create"): ServesMetricsToAccounts(),
    Asked("coordination.k8s.io", "leases", "create"): Leads(),
    Asked("coordination.k8s.io", "leases", "get"): Leads(),
    Asked("", "events", "create"): TellsWhoLeads(),
    LOOK_UP: ServesMetricsToCertificates(),
}


def _grants(rule: Object) -> list[Asked]:
    """Everything that a rule lets one do."""
    return [
        Asked(group, resource, verb)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def _rules(objects: list[Object]) -> list[Object]:
    return [rule for kind in ("ClusterRole", "Role") for rule in of_kind(objects, kind)["rules"]]


def _scenario(first: Asked) -> Scenario:
    return Reads() if first.verb == "list" else SERVED[first]


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
    """Starts a deployment whose objects *change* may have changed."""
    plugin = tmp_path / "sample.py"
    plugin.write_text(PLUGIN)

    def start(change: Callable[[list[Object]], None] = lambda objects: None) -> Case:
        objects = printed(f"--name=case-{next(numbers)}", f"--plugin={plugin}:CpuNodes")
        change(objects)
        case = Case(plane, objects, audit)
        case.start()
        return case

    yield start
    plane.end_components()


# --- the API server takes what is printed -----------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="a second scheduler"),
        pytest.param(["--replace-default"], id="in place of the default"),
        pytest.param(["--name=other", "--namespace=default", "--replicas=3", "--controllers"], id="all else"),
    ],
)
def test_the_api_server_would_take_it(plane: ControlPlane, arguments: list[str]) -> None:
    """A dry run on the server goes through defaults, validation and admission, and stores nothing."""
    objects = printed(*arguments)
    told = plane.kubectl(
        "apply", "--server-side", "--dry-run=server", "-f", "-", stdin=yaml.safe_dump_all(objects)
    )
    assert told.count("serverside-applied (server dry run)") == len(objects)


def test_kustomize_makes_the_same(plane: ControlPlane) -> None:
    """kubectl builds the base to the objects that are printed."""
    made = list(yaml.safe_load_all(plane.kubectl("kustomize", str(ROOT / "deploy" / "kustomize" / "base"))))
    assert _by_kind(made) == _by_kind(printed())


def test_the_pods_are_restricted(plane: ControlPlane) -> None:
    """The strictest of the Pod Security Standards lets them in."""
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    plane.api.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "restricted", "labels": label}}
    )
    template = of_kind(printed(), "Deployment")["spec"]["template"]
    metadata = {"name": "scheduler", "namespace": "restricted"}
    spec = {**template["spec"], "priorityClassName": ""}
    plane.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _by_kind(objects: list[Object]) -> dict[tuple[str, str], Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


# --- the rights are what is needed ------------------------------------------------------------------------


def test_rights_are_what_is_asked_for(deploy: Callable[..., Case]) -> None:
    """Everything works, nothing is refused, and every single verb on every resource was made use of."""
    case = deploy()
    case.wait_ready()
    for scenario in dict.fromkeys(SERVED.values()):
        scenario.act(case)
        try:
            eventually(lambda scenario=scenario: scenario.is_done(case), timeout=40)
        except AssertionError:
            print(case.process.log.read_text()[-6000:])
            raise AssertionError(type(scenario).__name__, events(case.api, f"{case.name}-told")) from None
    granted = [each for rule in _rules(case.objects) for each in _grants(rule)] + [LOOK_UP]
    assert eventually(lambda: case.asked() if case.asked() >= set(granted) else None) == set(granted)
    assert case.refused() == set()
    assert len(granted) == len(set(granted)), "what two rules grant is not taken away with one of them"


@pytest.mark.parametrize("i", range(len(RULES)), ids=[f"{each[0].verb} {each[0].resource}" for each in RULES])
def test_each_rule_is_needed(deploy: Callable[..., Case], i: int) -> None:
    """Without it a request is refused, and what the rule is for does not come about."""
    n_cluster_wide = len(of_kind(BASE, "ClusterRole")["rules"])

    def take_away(objects: list[Object]) -> None:
        kind, position = ("ClusterRole", i) if i < n_cluster_wide else ("Role", i - n_cluster_wide)
        taken = of_kind(objects, kind)["rules"].pop(position)
        assert _grants(taken) == RULES[i]

    _check_refused(deploy(take_away), RULES[i], _scenario(RULES[i][0]))


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

    assert eventually(refused, timeout=SECONDS) <= set(taken)
    assert not scenario.is_done(case)


# --- objects ----------------------------------------------------------------------------------------------


def _namespace(name: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"binds": name}}}


def _broken_webhook(name: str) -> Object:
    """Binds in the namespace are answered with 500, because nobody listens there."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    webhook = {
        "name": "broken.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"binds": name}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [webhook],
    }


def _breaks_binds(case: Case) -> bool:
    """Whether the API server has heard of the webhook: asked with a dry run, as somebody who may bind."""
    target = {"apiVersion": "v1", "kind": "Node", "name": case.name}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "probe"}, "target": target}
    path = f"/api/v1/namespaces/{case.name}/pods/probe/binding"
    try:
        case.api.request("POST", path, binding, options={"dryRun": "All"})
    except ApiError as error:
        return error.status == 500
    return False


def _storage_class(name: str, provisioner: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def _claim(name: str) -> Object:
    """Of the class of the same name."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "resources": {"requests": {"storage": "5Gi"}},
        },
    }


def _volume(name: str, node_name: str) -> Object:
    """Of the class of the same name, on the node."""
    on_node = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node_name]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": name,
            "local": {"path": f"/mnt/{name}"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
    }
