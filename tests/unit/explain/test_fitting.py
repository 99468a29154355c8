"""Would a workload of a manifest fit?"""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.explain.applied import cluster_of, scheduler_of

from bayplan.explain.custom_remedies import GROUP_LABEL
from bayplan.explain.explainer import Explainer
from bayplan.explain.explanation import FitReport
from bayplan.explain.fitting import fit_workloads
from bayplan.explain.object_files import ObjectFileError
from bayplan.model import KubeObject, PodGroup, PriorityClass, StorageClass
from bayplan.testing import make_node, make_pod

CONTAINER = {"name": "main", "image": "app", "resources": {"limits": {"cpu": "1"}}}


def workload(kind: str, spec: dict[str, Any], **template: Any) -> dict[str, Any]:
    pod_template = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER], **template}}
    return {
        "apiVersion": "x/v1",
        "kind": kind,
        "metadata": {"name": "w"},
        "spec": {**spec, "template": pod_template},
    }


def fit(*manifests: dict[str, Any], objects: tuple[KubeObject, ...]) -> FitReport:
    cluster = cluster_of(objects)
    explainer = Explainer(scheduler_of(*objects), cluster.source())
    return fit_workloads(explainer, cluster, manifests, "default", n_suggestions=2)


@pytest.mark.parametrize(
    ("manifest", "replicas"),
    [
        (workload("Deployment", {"replicas": 3}), 3),
        (workload("StatefulSet", {}), 1),
        (workload("Job", {"parallelism": 4, "completions": 2}), 2),
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "w"}, "spec": {"containers": [CONTAINER]}}, 1),
    ],
    ids=["Deployment", "StatefulSet", "Job", "Pod"],
)
def test_every_kind_of_workload_has_its_pods(manifest: dict[str, Any], replicas: int) -> None:
    (answer,) = fit(manifest, objects=(make_node("n", cpu="4"),)).workloads

    assert (answer.replicas, answer.placed, answer.first_failure) == (replicas, replicas, None)


def test_what_does_not_fit_is_explained() -> None:
    """Limits count as requests; the first pod without a place says why, and the change is one of the workload."""
    (answer,) = fit(workload("Deployment", {"replicas": 5}), objects=(make_node("n", cpu="3"),)).workloads

    assert answer.summary == "Deployment w does not fit: 3 of 5 pods do."
    assert [(each.node, each.count) for each in answer.nodes] == [("n", 3)]
    assert answer.first_failure is not None
    assert answer.first_failure.outcome.summary == "No node takes default/w-3: 1 Insufficient cpu."
    kinds = {change.object.kind for each in answer.first_failure.suggestions for change in each.changes}
    assert kinds <= {"Deployment", "Node"}


def test_workloads_of_one_file_share_the_cluster() -> None:
    """What the first one takes is not there for the second."""
    first, second = workload("Deployment", {"replicas": 2}), workload("Job", {"parallelism": 2})

    answers = fit(first, second, objects=(make_node("n", cpu="3"),)).workloads

    assert [answer.placed for answer in answers] == [2, 1]


def test_the_priority_is_that_of_the_class() -> None:
    """So that preemption is answered as it would be."""
    high = PriorityClass.from_dict({"metadata": {"name": "high"}, "value": 100})
    objects = (make_node("n", cpu="1"), make_pod("low", cpu="1", node_name="n"), high)

    (answer,) = fit(workload("Deployment", {}, priorityClassName="high"), objects=objects).workloads

    assert answer.first_failure is not None
    assert answer.first_failure.outcome.state == "Preempting"


def test_claims_of_a_stateful_set_are_made_with_it() -> None:
    """An unbound claim is the answer, not a missing one."""
    claim = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}}
    manifest = workload("StatefulSet", {"volumeClaimTemplates": [claim]})

    (answer,) = fit(manifest, objects=(make_node("n"),)).workloads

    assert answer.first_failure is not None
    assert "not found" not in answer.first_failure.outcome.summary
    assert [each.claim for each in answer.first_failure.volumes] == ["data-w-0"]


@pytest.mark.parametrize("kind", ["StatefulSet", "PersistentVolumeClaim"])
def test_claims_get_the_default_class(kind: str) -> None:
    """As the API server's admission would have it; without the class, nothing would ever bind the claim."""
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    storage = [
        StorageClass.from_dict(
            {
                "metadata": {"name": name, "annotations": annotations, "creationTimestamp": created},
                "provisioner": "example.com/disk",
                "volumeBindingMode": "WaitForFirstConsumer" if name == "good" else "Immediate",
            }
        )
        for name, annotations, created in (
            ("old", {"storageclass.kubernetes.io/is-default-class": "true"}, "2020-01-01T00:00:00Z"),
            ("good", {"storageclass.kubernetes.io/is-default-class": "true"}, "2021-01-01T00:00:00Z"),
            ("no-default", {}, "2022-01-01T00:00:00Z"),
        )
    ]
    manifests = [workload("StatefulSet", {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": spec}]})]
    if kind == "PersistentVolumeClaim":
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
        claim = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "data"}, "spec": spec}
        manifests = [claim, workload("Deployment", {}, volumes=[volume])]

    (answer,) = fit(*manifests, objects=(make_node("n"), *storage)).workloads

    assert answer.summary.endswith(" w fits.")


def test_a_group_fits_if_enough_members_do() -> None:
    """Those of the file and those that wait in the cluster count."""
    label = {GROUP_LABEL: "g"}
    group = {"apiVersion": PodGroup.API_VERSION, "kind": "PodGroup", "metadata": {"name": "g"}}
    members = workload("Deployment", {"replicas": 2})
    members["spec"]["template"]["metadata"]["labels"] = label
    objects = (make_node("n", cpu="3"), *(make_pod(name, cpu="1", labels=label) for name in ("a", "b")))

    def summary(needed: int, *manifests: dict[str, Any]) -> str:
        return fit({**group, "spec": {"minMember": needed}}, *manifests, objects=objects).workloads[-1].summary

    assert summary(3, members) == "PodGroup g fits: 3 of 4 members have a place, 3 are needed."
    assert summary(4, members) == "PodGroup g does not fit: 3 of 4 members have a place, 4 are needed."
    assert summary(2) == "PodGroup g fits: 2 of 2 members have a place, 2 are needed."


@pytest.mark.parametrize(
    ("manifest", "problem"),
    [
        ({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}, "no workload"),
        ({"apiVersion": "v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {}}, "spec.template"),
        (workload("Deployment", {"replicas": "many"}), "spec.replicas"),
    ],
)
def test_a_bad_workload_gets_a_clear_answer(manifest: dict[str, Any], problem: str) -> None:
    with pytest.raises(ObjectFileError, match=problem):
        fit(manifest, objects=())
