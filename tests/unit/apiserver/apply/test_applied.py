"""Server-side apply on the published types; that it is kube-apiserver's, tests/e2e shows with random ones."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bayplan.apiserver.apply import Apply, applied, track_update, view_of
from bayplan.apiserver.catalogue import built_in
from bayplan.apiserver.codec import Codecs
from bayplan.apiserver.status import StatusError

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
        self.view = view_of(resource, self.codec.node, subresource)
        self.types = {"apiVersion": api_version, "kind": kind}
        self.obj: Any = None

    def apply(self, manager: str, config: dict[str, Any], *, force: bool = False, now: str = NOW) -> Any:
        config = {**self.types, "metadata": {"name": "x"}, **config}
        zero = self.codec.decode({}).obj
        result = applied(self.view, self.obj, config, Apply(manager, self.types["kind"], now, force), zero=zero)
        self.obj = self.codec.decode(result).obj
        return self.obj

    def update(self, manager: str, **changes: Any) -> Any:
        new = copy.deepcopy({**self.obj, **changes})
        track_update(self.view, self.obj, new, manager, NOW)
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
    """Each owns what it says, and nothing else."""
    config_map.apply("ann", {"data": {"a": "1"}})
    assert config_map.apply("bob", {"data": {"b": "2"}})["data"] == {"a": "1", "b": "2"}
    assert config_map.owners() == {"ann": {"f:data": {"f:a": {}}}, "bob": {"f:data": {"f:b": {}}}}


def test_what_is_left_out_goes(config_map: Applied) -> None:
    """What a manager owned alone and does not say any more is removed."""
    config_map.apply("ann", {"data": {"a": "1", "b": "2"}})
    assert config_map.apply("ann", {"data": {"b": "2"}})["data"] == {"b": "2"}


def test_what_others_own_stays(config_map: Applied) -> None:
    """What two say with the same value is owned by both, and stays until both leave it out."""
    for manager in ("ann", "bob"):
        config_map.apply(manager, {"data": {"a": "1"}})
    assert config_map.apply("ann", {})["data"] == {"a": "1"}
    assert "data" not in config_map.apply("bob", {})


def test_conflict_names_manager_and_field(config_map: Applied) -> None:
    """Another value for what another manager owns is refused."""
    config_map.apply("ann", {"data": {"a": "1"}})
    with pytest.raises(StatusError) as refused:
        config_map.apply("bob", {"data": {"a": "2"}})
    assert refused.value.code == 409
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "ann": .data.a'
    cause = {"reason": "FieldManagerConflict", "message": 'conflict with "ann"', "field": ".data.a"}
    assert refused.value.details == {"causes": [cause]}


def test_conflicts_are_listed_by_manager(config_map: Applied) -> None:
    """Several conflicts come as a list; who wrote without applying is named with the version."""
    config_map.apply("bob", {"data": {"a": "1", "b": "1"}})
    config_map.update("ann", data={"a": "1", "b": "1", "c": "1"})
    with pytest.raises(StatusError) as refused:
        config_map.apply("eve", {"data": {"a": "2", "b": "2", "c": "2"}})
    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "ann" using v1:\n- .data.c\n'
        'conflicts with "bob":\n- .data.a\n- .data.b'
    )


def test_force_takes_fields_over(config_map: Applied) -> None:
    """With force the value changes hands."""
    config_map.apply("ann", {"data": {"a": "1"}})
    assert config_map.apply("bob", {"data": {"a": "2"}}, force=True)["data"] == {"a": "2"}
    assert config_map.owners() == {"bob": {"f:data": {"f:a": {}}}}


def test_lists_are_merged_by_key(deployment: Applied) -> None:
    """Containers of different managers stand side by side; each removes its own."""
    deployment.apply("ann", template({"name": "web", "image": "w:1"}))
    both = deployment.apply("bob", template({"name": "side", "image": "s:1"}))
    assert [container["name"] for container in containers(both)] == ["web", "side"]
    assert [container["name"] for container in containers(deployment.apply("bob", {}))] == ["web"]


def test_atomic_lists_have_one_owner(deployment: Applied) -> None:
    """A list without keys is one field: changing any of it is a conflict."""
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
    """The applier's order holds; what only the object has stays behind what it stood behind."""
    deployment.apply("ann", template(*({"name": name, "image": "i"} for name in "abc")))
    deployment.apply("bob", template({"name": "x", "image": "i"}))
    result = deployment.apply("ann", template(*({"name": name, "image": "i"} for name in "cba")))
    assert [container["name"] for container in containers(result)] == ["c", "x", "b", "a"]


def test_before_the_first_apply(config_map: Applied) -> None:
    """What an object had before anybody applied belongs to a manager of its own, and can conflict."""
    config_map.obj = {**config_map.types, "metadata": {"name": "x", "uid": "u"}, "data": {"a": "1"}}
    with pytest.raises(StatusError, match=r'conflict with "before-first-apply" using v1: \.data\.a'):
        config_map.apply("ann", {"data": {"a": "2"}})
    config_map.apply("ann", {"data": {"b": "2"}})
    assert config_map.owners()["before-first-apply"] == {"f:data": {".": {}, "f:a": {}}}


def test_same_again_changes_nothing(config_map: Applied) -> None:
    """An apply that changes nothing leaves the times alone, so that nothing needs to be written."""
    first = config_map.apply("ann", {"data": {"a": "1"}})
    assert config_map.apply("ann", {"data": {"a": "1"}}, now=LATER) == first


def test_status_is_not_owned_through_the_resource(deployment: Applied) -> None:
    """What a resource cannot write nobody owns through it."""
    deployment.apply("ann", {**template({"name": "web"}), "status": {"replicas": 3}})
    assert "f:status" not in deployment.owners()["ann"]


def test_updates_take_fields(config_map: Applied) -> None:
    """Who changes a field owns it from then on; who removes one leaves it to nobody."""
    config_map.apply("ann", {"data": {"a": "1", "b": "1"}})
    config_map.update("bob", data={"a": "2"})
    assert config_map.owners() == {"bob": {"f:data": {"f:a": {}}}}


def test_updates_of_untracked_objects_are_not_tracked(config_map: Applied) -> None:
    """Without managers there is nothing to keep up to date, until somebody applies."""
    config_map.obj = {**config_map.types, "metadata": {"name": "x", "uid": "u"}, "data": {"a": "1"}}
    config_map.update("bob", data={"a": "2"})
    assert config_map.owners() == {}


def test_managed_fields_are_reset(config_map: Applied) -> None:
    """One empty entry makes the object forget its managers."""
    config_map.apply("ann", {"data": {"a": "1"}})
    config_map.update("bob", metadata={"name": "x", "managedFields": [{}]})
    assert config_map.owners() == {}


def test_too_many_updaters_are_one(config_map: Applied) -> None:
    """Beyond ten managers by update, the oldest are remembered together."""
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
    """A configuration must be of the kind and of the schema's types, as structured-merge-diff says it."""
    with pytest.raises(StatusError) as refused:
        config_map.apply("ann", config)
    assert (refused.value.code, refused.value.message) == (code, message)


def test_elements_must_differ(deployment: Applied) -> None:
    """Two elements with the same key cannot be told apart."""
    with pytest.raises(StatusError, match=r'containers: duplicate entries for key \[name="web"\]'):
        deployment.apply("ann", template({"name": "web"}, {"name": "web"}))


def test_object_that_cannot_be_merged() -> None:
    """An object with a list element that lacks its key cannot be applied to."""
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


def test_kubectl_takes_over_what_it_applied_from_its_side(config_map: Applied) -> None:
    """What the annotation says and is still so is kubectl's own; the annotation is kept true."""
    from_client_side(config_map)
    result = config_map.apply("kubectl", {"data": {"a": "2"}})
    assert result["data"] == {"a": "2"}
    assert result["metadata"]["annotations"][ANNOTATION] == LAST.replace('"1"', '"2"')


def test_others_do_not_take_over(config_map: Applied) -> None:
    """The annotation is kubectl's: other managers get the conflict."""
    from_client_side(config_map)
    with pytest.raises(StatusError, match="conflict with"):
        config_map.apply("ann", {"data": {"a": "2"}})
