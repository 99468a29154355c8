"""Changes as data: patches, manifests that can be created anew, and what nobody should read."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.explain.changes import changed_pod, merge_patch, with_patch, without_server_fields


@pytest.mark.parametrize(
    ("old", "new", "patch"),
    [
        pytest.param({"a": 1}, {"a": 1}, {}, id="nothing changed"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="a value"),
        pytest.param({"a": 1, "b": 2}, {"b": 2}, {"a": None}, id="a removed field"),
        pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, {"a": {"c": None}}, id="a removed nested field"),
        pytest.param({"a": [1, 2]}, {"a": [2]}, {"a": [2]}, id="lists as a whole"),
        pytest.param({}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a new mapping"),
    ],
)
def test_a_merge_patch_leads_from_old_to_new(old: dict[str, Any], new: dict[str, Any], patch: Any) -> None:
    """RFC 7386; applied to the old object it gives the new one."""
    assert merge_patch(old, new) == patch
    assert with_patch(old, patch) == new


def _pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "p",
            "namespace": "default",
            "uid": "1",
            "resourceVersion": "7",
            "labels": {"a": "b"},
        },
        "spec": {"containers": [{"name": "main", "image": "app"}], **spec},
        "status": {"phase": "Pending"},
    }


def test_tolerations_are_patched() -> None:
    """The API lets tolerations be added to a pod that exists."""
    new = _pod(tolerations=[{"key": "k", "operator": "Exists"}])

    change = changed_pod(_pod(), new)

    assert (change.verb, change.patch) == (
        "patch",
        {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}},
    )


def test_other_fields_make_a_new_pod() -> None:
    """With what the server has set left out; the name stays."""
    change = changed_pod(_pod(nodeSelector={"disk": "ssd"}), _pod())

    assert change.verb == "replace"
    assert change.manifest == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "main", "image": "app"}]},
    }


def test_environment_is_left_out_and_named() -> None:
    """Its values may be secrets; whoever applies the manifest has to put them back."""
    containers = [{"name": "main", "image": "app", "env": [{"name": "TOKEN", "value": "s3cret"}]}]
    init = [{"name": "init", "image": "app", "envFrom": [{"secretRef": {"name": "keys"}}]}]

    change = changed_pod(
        _pod(containers=containers, initContainers=init, nodeSelector={"a": "b"}),
        _pod(containers=containers, initContainers=init),
    )

    assert "s3cret" not in str(change.manifest)
    assert "keys" not in str(change.manifest)
    assert change.omitted == ("spec.containers[0].env", "spec.initContainers[0].envFrom")


def test_the_token_volume_is_left_out() -> None:
    """Admission adds another one to the new pod."""
    mount = {"name": "kube-api-access-x1", "mountPath": "/var/run/secrets"}
    volumes = [{"name": "kube-api-access-x1", "projected": {}}, {"name": "data", "emptyDir": {}}]
    containers = [{"name": "main", "image": "app", "volumeMounts": [mount, {"name": "data", "mountPath": "/d"}]}]

    manifest = without_server_fields(_pod(containers=containers, volumes=volumes, nodeName="n"))

    assert manifest["spec"]["volumes"] == [{"name": "data", "emptyDir": {}}]
    assert manifest["spec"]["containers"][0]["volumeMounts"] == [{"name": "data", "mountPath": "/d"}]
    assert "nodeName" not in manifest["spec"]


def test_what_kubectl_applied_is_left_out() -> None:
    """Its annotation is the whole object once more, with the environment."""
    old = _pod()
    old["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": '{"env": [{"name": "PASSWORD", "value": "hunter2"}]}',
        "mine": "stays",
    }
    new = {**old, "spec": {**old["spec"], "nodeSelector": {}}}

    change = changed_pod(old, new)

    assert change.manifest is not None
    assert change.manifest["metadata"]["annotations"] == {"mine": "stays"}
