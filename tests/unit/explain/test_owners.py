"""The workload of a pod, and changes of its template."""

from __future__ import annotations

from typing import Any

from tests.unit.explain.applied import cluster_of

from bayplan.explain.owners import changed_template, missing_owner, owner_of
from bayplan.model import ReplicaSet
from bayplan.testing import make_pod


def _owner(kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}


POD = make_pod("p", metadata={"ownerReferences": [_owner("ReplicaSet", "rs")]})
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "default"},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "app"}]}}},
}
REPLICA_SET = ReplicaSet.from_dict(
    {
        "metadata": {"name": "rs", "namespace": "default", "ownerReferences": [_owner("Deployment", "d")]},
        "spec": {"template": {"spec": {}}},
    }
)


def _tolerate(manifest: dict[str, Any]) -> None:
    manifest["spec"]["tolerations"] = [{"operator": "Exists"}]


def _use_image(manifest: dict[str, Any]) -> None:
    manifest["spec"]["containers"] = [{**each, "image": "other"} for each in manifest["spec"]["containers"]]


def test_the_topmost_workload_is_found() -> None:
    """A ReplicaSet is made anew by its Deployment."""
    objects = cluster_of([POD, REPLICA_SET])
    objects.add_mapping(DEPLOYMENT)

    assert owner_of(objects, POD) == DEPLOYMENT


def test_a_workload_that_is_not_known_is_named() -> None:
    """And nothing below it is changed in its place."""
    objects = cluster_of([POD, REPLICA_SET])

    missing = missing_owner(objects, POD)
    assert missing is not None
    assert (missing.kind, missing.name) == ("Deployment", "d")
    assert owner_of(objects, POD) is None


def test_a_template_is_patched() -> None:
    change = changed_template(DEPLOYMENT, [_tolerate])

    assert change is not None
    assert (change.verb, change.object.kind) == ("patch", "Deployment")
    assert change.patch == {
        "spec": {"template": {"metadata": {}, "spec": {"tolerations": [{"operator": "Exists"}]}}}
    }


def test_a_patch_that_would_show_the_environment_is_none() -> None:
    """A merge patch has the whole list of containers, or would take their environment away."""
    container = {"name": "main", "image": "app", "env": [{"name": "A", "value": "s3cret"}]}
    owner = {**DEPLOYMENT, "spec": {"template": {"spec": {"containers": [container]}}}}

    assert changed_template(owner, [_use_image]) is None
    assert changed_template(owner, [_tolerate]) is not None


def test_a_job_is_replaced() -> None:
    """Its template is immutable; what the API server generates for it is left out."""
    job = {
        **DEPLOYMENT,
        "kind": "Job",
        "spec": {
            "selector": {"matchLabels": {"controller-uid": "1"}},
            "template": {"metadata": {"labels": {"controller-uid": "1", "a": "b"}}, "spec": {"containers": []}},
        },
    }

    change = changed_template(job, [_tolerate])

    assert change is not None
    assert change.verb == "replace"
    assert change.manifest is not None
    assert change.manifest["spec"] == {
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [], "tolerations": [{"operator": "Exists"}]},
        }
    }
