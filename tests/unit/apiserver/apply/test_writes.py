"""Server-side apply on the published types; tests/e2e compares it with kube-apiserver on random ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.apply import ApplyOptions, applied, target_of, track_update
from bayplan.apiserver.codec import Codecs
from bayplan.apiserver.registry.builtin_resources import built_in

CODECS = Codecs()
TABLE = built_in()
NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-02T00:00:00Z"


class Applied:
    """One object that managers apply to and update in turn."""

    def __init__(self, api_version: str, kind: str, subresource: str = "") -> None:
        resource = TABLE.of_kind(api_version, kind)
        assert resource is not None
        self.codec = CODECS.of(resource)
        self.target = target_of(resource, self.codec.node, subresource)
        self.types = {"apiVersion": api_version, "kind": kind}
        self.obj: Any = None

    def apply(self, manager: str, config: dict[str, Any], *, force: bool = False, now: str = NOW) -> Any:
        config = {**self.types, "metadata": {"name": "x"}, **config}
        zero = self.codec.decode({}).obj
        result = applied(
            self.target, self.obj, config, ApplyOptions(manager, self.types["kind"], now, force), zero=zero
        )
        self.obj = self.codec.decode(result).obj
        return self.obj

    def update(self, manager: str, **changes: Any) -> Any:
        new = copy.deepcopy({**self.obj, **changes})
        track_update(self.target, self.obj, new, manager, NOW)
        self.obj = new
        return new

    def owners(self) -> dict[str, Any]:
        return {entry["manager"]: entry["fieldsV1"] for entry in self.obj["metadata"].get("managedFields", [])}


@pytest.fixture
def config_map() -> Applied:
    return Applied("v1", "ConfigMap")


@pytest.fixture
def deployment() -> Applied:
    return Applied("apps/v1", "Deployment")


def template(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"spec": {**spec, "template": {"spec": {"containers": list(containers)}}}}


def containers(obj: Any) -> list[Any]:
    found: list[Any] = obj["spec"]["template"]["spec"]["containers"]
    return found


def test_managers_add_to_each_other(config_map: Applied) -> None:
    """Each manager owns what it applies, and nothing else."""
    config_map.apply("ann", {"data": {"a": "1"}})
    assert config_map.apply("bob", {"data": {"b": "2"}})["data"] == {"a": "1", "b": "2"}
    assert config_map.owners() == {"ann": {"f:data": {"f:a": {}}}, "bob": {"f:data": {"f:b": {}}}}


def test_fields_left_out_are_removed(config_map: Applied) -> None:
    """A field that a manager owned alone and leaves out is removed."""
    config_map.apply("ann", {"data": {"a": "1", "b": "2"}})
    assert config_map.apply("ann", {"data": {"b": "2"}})["data"] == {"b": "2"}


def test_fields_of_others_stay(config_map: Applied) -> None:
    """A field that two managers set to the same value is owned by both, and stays until both leave it out."""
    for manager in ("ann", "bob"):
        config_map.apply(manager, {"data": {"a": "1"}})
    assert config_map.apply("ann", {})["data"] == {"a": "1"}
    assert "data" not in config_map.apply("bob", {})


def test_conflict_names_manager_and_field(config_map: Applied) -> None:
    """A different value for a field of another manager is refused."""
    config_map.apply("ann", {"data": {"a": "1"}})
    with pytest.raises(StatusError) as refused:
        config_map.apply("bob", {"data": {"a": "2"}})
    assert refused.value.code == 409
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "ann": .data.a'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "ann"', "field": ".data.a"}
    assert refused.value.details == {"causes": [cause]}


def test_conflicts_are_listed_by_manager(config_map: Applied) -> None:
    """Several conflicts are listed; a manager that updated is named with its version."""
    config_map.apply("bob", {"data": {"a": "1", "b": "1"}})
    config_map.update("ann", data={"a": "1", "b": "1", "c": "1"})
    with pytest.raises(StatusError) as refused:
        config_map.apply("eve", {"data": {"a": "2", "b": "2", "c": "2"}})
    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "ann" using v1:\n- .data.c\n'
        'conflicts with "bob":\n- .data.a\n- .data.b'
    )


def test_force_takes_fields_over(config_map: Applied) -> None:
    """With force, the field changes its owner."""
    config_map.apply("ann", {"data": {"a": "1"}})
    assert config_map.apply("bob", {"data": {"a": "2"}}, force=True)["data"] == {"a": "2"}
    assert config_map.owners() == {"bob": {"f:data": {"f:a": {}}}}


def test_lists_are_merged_by_key(deployment: Applied) -> None:
    """Containers of different managers coexist; each manager removes its own."""
    deployment.apply("ann", template({"name": "web", "image": "w:1"}))
    both = deployment.apply("bob", template({"name": "side", "image": "s:1"}))
    assert [container["name"] for container in containers(both)] == ["web", "side"]
    assert [container["name"] for container in containers(deployment.apply("bob", {}))] == ["web"]


def test_atomic_lists_have_one_owner(deployment: Applied) -> None:
    """A list without keys is one field: any change of it is a conflict."""
    deployment.apply("ann", template({"name": "web", "command": ["a"]}))
    with pytest.raises(StatusError, match=r'containers\[name="web"\]\.command'):
        deployment.apply("bob", template({"name": "web", "command": ["a", "b"]}))


def test_keys_with_defaults(deployment: Applied) -> None:
    """A port without a protocol is the TCP port of that number."""
    deployment.apply("ann", template({"name": "web", "ports": [{"containerPort": 80}]}))
    named = [{"containerPort": 80, "protocol": "TCP", "name": "http"}]
    result = deployment.apply("bob", template({"name": "web", "ports": named}))
    assert containers(result)[0]["ports"] == named


def test_order_of_the_applier_holds(deployment: Applied) -> None:
    """The applier's order holds; elements only in the object keep their place."""
    deployment.apply("ann", template(*({"name": name, "image": "i"} for name in "abc")))
    deployment.apply("bob", template({"name": "x", "image": "i"}))
    result = deployment.apply("ann", template(*({"name": name, "image": "i"} for name in "cba")))
    assert [container["name"] for container in containers(result)] == ["c", "x", "b", "a"]


def test_before_the_first_apply(config_map: Applied) -> None:
    """Fields from before the first apply belong to a manager of their own, and can conflict."""
    config_map.obj = {**config_map.types, "metadata": {"name": "x", "uid": "u"}, "data": {"a": "1"}}
    with pytest.raises(StatusError, match=r'conflict with "before-first-apply" using v1: \.data\.a'):
        config_map.apply("ann", {"data": {"a": "2"}})
    config_map.apply("ann", {"data": {"b": "2"}})
    assert config_map.owners()["before-first-apply"] == {"f:data": {".": {}, "f:a": {}}}


def test_same_again_changes_nothing(config_map: Applied) -> None:
    """An apply that changes nothing leaves the times unchanged, so that nothing is written."""
    first = config_map.apply("ann", {"data": {"a": "1"}})
    assert config_map.apply("ann", {"data": {"a": "1"}}, now=LATER) == first


def test_status_is_not_owned_through_the_resource(deployment: Applied) -> None:
    """Fields that a resource cannot write have no owner through it."""
    deployment.apply("ann", {**template({"name": "web"}), "status": {"replicas": 3}})
    assert "f:status" not in deployment.owners()["ann"]


def test_updates_take_fields(config_map: Applied) -> None:
    """A writer owns the fields it changes; removed fields have no owner."""
    config_map.apply("ann", {"data": {"a": "1", "b": "1"}})
    config_map.update("bob", data={"a": "2"})
    assert config_map.owners() == {"bob": {"f:data": {"f:a": {}}}}


def test_updates_of_untracked_objects_are_not_tracked(config_map: Applied) -> None:
    """Objects without managers are not tracked until the first apply."""
    config_map.obj = {**config_map.types, "metadata": {"name": "x", "uid": "u"}, "data": {"a": "1"}}
    config_map.update("bob", data={"a": "2"})
    assert config_map.owners() == {}


def test_managed_fields_are_reset(config_map: Applied) -> None:
    """One empty entry resets the managers of the object."""
    config_map.apply("ann", {"data": {"a": "1"}})
    config_map.update("bob", metadata={"name": "x", "managedFields": [{}]})
    assert config_map.owners() == {}


def test_too_many_updaters_are_merged(config_map: Applied) -> None:
    """Beyond ten updating managers, the oldest are merged."""
    config_map.apply("ann", {"data": {"a": "1"}})
    for i in range(12):
        config_map.update(f"m{i:02}", data={**config_map.obj["data"], f"k{i}": "1"})
    owners = config_map.owners()
    assert set(owners) == {"ann", "ancient-changes", *(f"m{i:02}" for i in range(3, 12))}
    assert owners["ancient-changes"] == {"f:data": {"f:k0": {}, "f:k1": {}, "f:k2": {}}}


@pytest.mark.parametrize(
    ("config", "code", "message"),
    [
        pytest.param({"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret", id="another kind"),
        pytest.param(
            {"metadata": {"name": "x", "managedFields": []}},
            400,
            "metadata.managedFields must be nil",
            id="managers given",
        ),
        pytest.param(
            {"bogus": 1},
            500,
            "failed to create typed patch object (/x; /v1, Kind=ConfigMap): .bogus: field not declared in schema",
            id="unknown field",
        ),
        pytest.param(
            {"immutable": "yes", "data": {"a": True}},
            500,
            "failed to create typed patch object (/x; /v1, Kind=ConfigMap): errors:\n"
            "  .immutable: expected boolean, got &{yes}\n"
            "  .data.a: expected string, got &value.valueUnstructured{Value:true}",
            id="wrong types",
        ),
    ],
)
def test_configuration_that_is_refused(config_map: Applied, config: Any, code: int, message: str) -> None:
    """A configuration must match the kind and the types of the schema; errors are structured-merge-diff's."""
    with pytest.raises(StatusError) as refused:
        config_map.apply("ann", config)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_elements_must_differ(deployment: Applied) -> None:
    """Two elements with the same key are refused."""
    with pytest.raises(StatusError, match=r'containers: duplicate entries for key \[name="web"\]'):
        deployment.apply("ann", template({"name": "web"}, {"name": "web"}))


def test_object_that_cannot_be_merged() -> None:
    """An object with a list element that lacks its key cannot be applied."""
    account = Applied("v1", "ServiceAccount")
    account.obj = {**account.types, "metadata": {"name": "x", "uid": "u"}, "secrets": [{}]}
    with pytest.raises(
        StatusError, match=r"failed to create manager for existing fields: .*\.secrets: element 0: "
    ):
        account.apply("ann", {})


LAST = '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":{"name":"x"}}\n'
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"


def from_client_side(config_map: Applied) -> None:
    config_map.apply("seed", {})
    metadata = {"name": "x", "annotations": {ANNOTATION: LAST}}
    config_map.obj = {**config_map.obj, "metadata": metadata}
    config_map.apply("seed", {"immutable": False})
    config_map.update("kubectl-client-side-apply", data={"a": "1"})


def test_kubectl_takes_over_its_client_side_fields(config_map: Applied) -> None:
    """Fields that still have the value of the annotation belong to kubectl; the annotation is kept up to date."""
    from_client_side(config_map)
    result = config_map.apply("kubectl", {"data": {"a": "2"}})
    assert result["data"] == {"a": "2"}
    assert result["metadata"]["annotations"][ANNOTATION] == LAST.replace('"1"', '"2"')


def test_others_do_not_take_over(config_map: Applied) -> None:
    """The annotation is kubectl's: other managers get the conflict."""
    from_client_side(config_map)
    with pytest.raises(StatusError, match="conflict with"):
        config_map.apply("ann", {"data": {"a": "2"}})
