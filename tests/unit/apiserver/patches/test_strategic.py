"""Strategic merge patch on the published types; tests/e2e compares it with kube-apiserver on random patches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.patches import MERGE_PATCH, STRATEGIC_MERGE_PATCH, patched
from bayplan.apiserver.schema.schemas import published

POD = published().node("io.k8s.api.core.v1.Pod")


def apply(current: dict[str, Any], patch: Any) -> Any:
    return patched(STRATEGIC_MERGE_PATCH, current, msgspec.json.encode(patch), POD)


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def containers(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "image": f"{name}:1"} for name in names]


def names(result: Any) -> list[str]:
    return [container["name"] for container in result["spec"]["containers"]]


@pytest.mark.parametrize(
    ("patch", "order"),
    [
        pytest.param(containers("d"), ["d", "a", "b", "c"], id="a new one goes first"),
        pytest.param(containers("b"), ["a", "b", "c"], id="one that is there stays"),
        pytest.param(containers("c", "a"), ["b", "c", "a"], id="order of the patch before that of the list"),
        pytest.param(containers("b", "d"), ["a", "b", "d", "c"], id="a new one after the one before it"),
        pytest.param([{"name": "b", "$patch": "delete"}], ["a", "c"], id="delete"),
        pytest.param([{"$patch": "replace"}, *containers("x")], ["x"], id="replace"),
        pytest.param([{"name": "q", "$patch": "delete"}], ["a", "b", "c"], id="delete what is not there"),
    ],
)
def test_list_with_a_merge_key(patch: list[Any], order: list[str]) -> None:
    """Elements with the same merge key are merged; directives are members of elements."""
    assert names(apply(pod(containers=containers("a", "b", "c")), pod(containers=patch))) == order


def test_elements_are_merged() -> None:
    """Members that the patch omits stay; null removes; nested lists follow their own rule."""
    current = pod(containers=[{"name": "a", "image": "i", "env": [{"name": "X", "value": "1"}], "command": ["c"]}])
    patch = pod(containers=[{"name": "a", "image": None, "env": [{"name": "Y", "value": "2"}], "command": ["d"]}])
    assert apply(current, patch)["spec"]["containers"] == [
        {"name": "a", "env": [{"name": "Y", "value": "2"}, {"name": "X", "value": "1"}], "command": ["d"]}
    ]


@pytest.mark.parametrize(
    ("current", "patch", "spec"),
    [
        pytest.param(
            {"tolerations": [{"key": "a"}]},
            {"tolerations": [{"key": "b"}]},
            {"tolerations": [{"key": "b"}]},
            id="a list without a merge key is replaced",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}},
            {"nodeSelector": {"b": "2"}},
            {"nodeSelector": {"a": "1", "b": "2"}},
            id="a map is merged",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}},
            {"nodeSelector": {"b": "2", "$patch": "replace"}},
            {"nodeSelector": {"b": "2"}},
            id="a map is replaced",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1"}},
            {"nodeSelector": {"$patch": "delete"}},
            {"nodeSelector": {}},
            id="a map is emptied",
        ),
        pytest.param(
            {},
            {"nodeSelector": {"b": "2", "$patch": "replace"}},
            {},
            id="with nothing to replace the directive is all there is",
        ),
        pytest.param(
            {"nodeSelector": {"a": "1", "b": "2"}},
            {"nodeSelector": {"b": "3", "$retainKeys": ["b"]}},
            {"nodeSelector": {"b": "3"}},
            id="only these keys are retained",
        ),
        pytest.param(
            {},
            {"containers": [{"name": "a", "env": None}, {"name": "b", "$patch": "delete"}]},
            {"containers": [{"name": "a"}]},
            id="a new list has neither nulls nor directives",
        ),
    ],
)
def test_members(current: dict[str, Any], patch: dict[str, Any], spec: dict[str, Any]) -> None:
    """Members that are not merged lists."""
    assert apply(pod(**current), pod(**patch)) == pod(**spec)


def finalizers(*values: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"finalizers": list(values), **more}}


def test_list_of_texts_with_merge() -> None:
    """Values are added once: those of the patch in its order, the others where they were."""
    assert apply(finalizers("a", "b"), finalizers("c", "b")) == finalizers("c", "a", "b")


def test_values_are_deleted_from_a_list() -> None:
    """A directive next to the list names the values to remove."""
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b", "q"]}}
    assert apply(finalizers("a", "b", "c"), patch) == finalizers("a", "c")


def test_order_of_a_list_is_set() -> None:
    """The order of the patch holds; elements that it does not name keep their place."""
    order = [{"name": name} for name in ("c", "a")]
    current = pod(containers=containers("a", "b", "c"))
    assert names(apply(current, {"spec": {"$setElementOrder/containers": order}})) == ["b", "c", "a"]


def test_order_of_a_list_that_is_merged_too() -> None:
    """kubectl apply sends both: the changed elements, and the order of all."""
    patch = {
        "spec": {
            "containers": [{"name": "d", "image": "d:1"}, {"name": "b", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "c"}, {"name": "d"}, {"name": "a"}],
        }
    }
    assert names(apply(pod(containers=containers("a", "b", "c")), patch)) == ["c", "d", "a"]


def test_new_elements_take_the_places_of_deleted_ones() -> None:
    """With an order given, an element that the patch does not name precedes new ones that replace others."""
    patch = {
        "spec": {
            "containers": [*containers("x", "y"), {"name": "a", "$patch": "delete"}],
            "$setElementOrder/containers": [{"name": "x"}, {"name": "y"}],
        }
    }
    assert names(apply(pod(containers=containers("a", "b")), patch)) == ["b", "x", "y"]


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param(
            pod(containers=[{"image": "x", "b": {"c": [1, True, None]}}]),
            500,
            "map: map[b:map[c:[1 true <nil>]] image:x] does not contain declared merge key: name",
            id="no merge key",
        ),
        pytest.param(
            pod(containers=[{"$patch": "merge"}]),
            500,
            "merging lists cannot yet be specified in the patch",
            id="merge as a directive",
        ),
        pytest.param(
            pod(containers=[{"name": "a", "$patch": "x"}]),
            500,
            "unknown patch type: x in map: map[$patch:x name:a]",
            id="unknown directive in an element",
        ),
        pytest.param(
            pod(**{"$patch": "x"}), 500, "unknown patch type: x in map: map[$patch:x]", id="unknown directive"
        ),
        pytest.param(
            pod(**{"$retainKeys": "a"}), 400, "invalid patch format of retainKeys", id="retainKeys that is no list"
        ),
        pytest.param(
            pod(hostname="a", **{"$retainKeys": []}),
            400,
            "invalid patch format of retainKeys",
            id="a member that is not retained",
        ),
        pytest.param(
            pod(**{"$deleteFromPrimitiveList": []}),
            400,
            "invalid patch format of primitive list",
            id="no field to delete from",
        ),
        pytest.param(
            pod(**{"$setElementOrder/containers": "a"}),
            500,
            "expected a []interface {}, but received a string",
            id="an order that is no list",
        ),
        pytest.param(
            pod(containers=[{"name": "b"}], **{"$setElementOrder/containers": [{"name": "a"}]}),
            500,
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
            id="an element that is not in the order",
        ),
    ],
)
def test_patch_that_makes_no_sense(patch: Any, code: int, message: str) -> None:
    """Errors have kube-apiserver's messages; it has no status for most of them."""
    with pytest.raises(StatusError) as refused:
        apply(pod(containers=containers("a")), patch)
    assert (refused.value.code, refused.value.message) == (code, message)


KEYS = st.sampled_from(["activeDeadlineSeconds", "hostname", "nodeSelector", "subdomain"])
SCALARS = st.sampled_from([None, "x", "y"])
SPECS = st.dictionaries(KEYS, SCALARS | st.dictionaries(st.sampled_from("abc"), SCALARS, max_size=3))


@given(current=SPECS, patch=SPECS)
def test_without_lists_it_is_a_merge_patch(current: dict[str, Any], patch: dict[str, Any]) -> None:
    """The two formats differ only for lists."""
    body = msgspec.json.encode(pod(**patch))
    stored = msgspec.json.encode(pod(**current))
    results = [
        patched(how, msgspec.json.decode(stored), body, POD) for how in (MERGE_PATCH, STRATEGIC_MERGE_PATCH)
    ]
    assert results[0] == results[1]


def test_null_changes_nothing() -> None:
    """A null body is a patch without members."""
    assert patched(STRATEGIC_MERGE_PATCH, pod(hostname="a"), b"null", POD) == pod(hostname="a")
