"""Schema nodes: fields, merge keys, list types, defaults; and the table of how Go writes fields."""

from __future__ import annotations

import pytest

from bayplan.apiserver.schema.schemas import DefinitionNode, published

_POD = "io.k8s.api.core.v1.Pod"


def _node(path: str) -> DefinitionNode:
    """`Pod.spec.containers[].ports`"""
    first, *rest = path.replace("[]", ".[]").split(".")
    node: DefinitionNode | None = published().node(f"io.k8s.api.core.v1.{first}")
    for step in rest:
        assert node is not None
        node = node.item() if step == "[]" else node.child(step)
    assert node is not None, path
    return node


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("Pod.spec", "object"),
        ("Pod.spec.containers", "array"),
        ("Pod.spec.nodeName", "string"),
        ("Pod.spec.priority", "integer"),
        ("Pod.spec.hostNetwork", "boolean"),
        ("Pod.metadata.labels", "object"),
        ("Pod.metadata.labels.anything", "string"),
        ("Pod.metadata.creationTimestamp", "scalar"),
        ("Pod.spec.containers[].resources.limits.cpu", "scalar"),
        ("Pod.spec.containers[].livenessProbe.httpGet.port", "scalar"),
    ],
)
def test_kind_of_a_value(path: str, kind: str) -> None:
    """Quantities, times and int-or-strings are structs in Go and scalars in JSON."""
    assert _node(path).kind == kind


@pytest.mark.parametrize(
    ("path", "strategy", "merge_key", "list_type", "keys"),
    [
        ("Pod.spec.containers", "merge", "name", "map", ("name",)),
        ("Pod.spec.containers[].ports", "merge", "containerPort", "map", ("containerPort", "protocol")),
        ("Pod.spec.volumes", "merge,retainKeys", "name", "map", ("name",)),
        ("Pod.spec.tolerations", "", "", "atomic", ()),
        ("Pod.spec.containers[].args", "", "", "atomic", ()),
        ("Pod.metadata.finalizers", "merge", "", "set", ()),
        ("Pod.metadata.ownerReferences", "merge", "uid", "map", ("uid",)),
        ("Node.spec.podCIDRs", "merge", "", "set", ()),
    ],
)
def test_how_lists_merge(path: str, strategy: str, merge_key: str, list_type: str, keys: tuple[str, ...]) -> None:
    """Strategic merge patch and server-side apply read different extensions of one schema."""
    node = _node(path)
    assert (node.patch_strategy, node.merge_key) == (strategy, merge_key)
    assert (node.list_type, node.list_map_keys) == (list_type, keys)
    assert node.is_atomic == (list_type == "atomic")


def test_atomic_maps_have_one_owner() -> None:
    """A node selector is replaced as a whole, labels are not."""
    assert _node("Pod.spec.nodeSelector").is_atomic
    assert not _node("Pod.metadata.labels").is_atomic


@pytest.mark.parametrize(
    ("path", "default"),
    [
        ("Pod.spec.containers[].ports[].protocol", "TCP"),
        ("Pod.spec.containers[].ports[].containerPort", 0),
        ("Pod.spec.containers[].ports[].hostPort", None),
        ("Pod.spec.imagePullSecrets[].name", ""),
    ],
)
def test_default_of_a_field(path: str, default: object) -> None:
    """Apply identifies list elements by keys that may be omitted."""
    assert _node(path).default == default


def test_no_such_field() -> None:
    """A struct has only its fields; a map has any."""
    assert _node("Pod.spec").child("nodeselector") is None
    assert not _node("Pod.metadata.labels").declares("app")
    assert _node("Pod.spec").declares("nodeName")


def test_marks_beside_a_reference_count() -> None:
    """`strategy` of a Deployment has retainKeys although its type does not."""
    node = published().node("io.k8s.api.apps.v1.DeploymentSpec").child("strategy")
    assert node is not None
    assert node.patch_strategy == "retainKeys"
    assert node.definition == "io.k8s.api.apps.v1.DeploymentStrategy"


def test_the_table_names_fields_that_exist() -> None:
    """An unknown field would never be looked up."""
    definitions = published().definitions
    for name, definition in definitions.items():
        form, fields = published().form(name), definition.get("properties", {}).keys()
        assert (
            form.always | form.null | form.pointer | form.omitzero | form.default.keys() | form.enum.keys()
            <= fields
        )
