"""What a plugin asks to see: kinds and selectors, and what is refused."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from bayplan.framework import PluginError
from bayplan.framework.object_selection import select_objects
from bayplan.model import ConfigMap, KubeObject, Node, Pod
from bayplan.testing import make_pod

MAP = ConfigMap.from_dict({"metadata": {"name": "limits", "namespace": "ci", "labels": {"app": "web"}}})


class Foo(KubeObject, frozen=True, kw_only=True):
    """A custom resource with a class of its own."""

    KIND: ClassVar[str] = "Foo"
    API_VERSION: ClassVar[str] = "example.com/v1"
    PLURAL: ClassVar[str] = "foos"


@pytest.mark.parametrize(
    ("kind", "resource", "path"),
    [
        (ConfigMap, "configmaps.v1", "/api/v1/namespaces/ci/configmaps"),
        (Foo, "foos.v1.example.com", "/apis/example.com/v1/namespaces/ci/foos"),
        ("secrets.v1", "secrets.v1", "/api/v1/namespaces/ci/secrets"),
        ("foos.v1beta1.example.com", "foos.v1beta1.example.com", "/apis/example.com/v1beta1/namespaces/ci/foos"),
    ],
)
def test_a_resource_has_a_name_and_a_path(kind: Any, resource: str, path: str) -> None:
    selection = select_objects(kind, namespace="ci")
    assert (selection.resource, selection.path) == (resource, path)
    assert not selection.is_whole
    assert select_objects(kind).is_whole


@pytest.mark.parametrize(
    ("selectors", "is_selected"),
    [
        ({}, True),
        ({"namespace": "ci"}, True),
        ({"namespace": "prod"}, False),
        ({"labels": "app in (web, db)"}, True),
        ({"labels": "!app"}, False),
        ({"fields": "metadata.name=limits"}, True),
        ({"fields": "metadata.name!=limits"}, False),
        ({"fields": "metadata.namespace=ci", "labels": "app=web"}, True),
    ],
    ids=str,
)
def test_selectors_match_as_on_the_server(selectors: dict[str, str], is_selected: bool) -> None:
    """Typed objects and dictionaries alike."""
    assert select_objects(ConfigMap, **selectors).matches(MAP) is is_selected
    assert select_objects("configmaps.v1", **selectors).matches(MAP.to_dict()) is is_selected


def test_a_missing_field_is_empty() -> None:
    waiting = select_objects(Pod, fields="spec.nodeName=")
    assert waiting.matches(make_pod("p"))
    assert not waiting.matches(make_pod("p", node_name="n"))


def test_the_only_name_is_known() -> None:
    """The permission to watch it can be restricted to this name."""
    assert select_objects(ConfigMap, fields="metadata.name=limits").object_name == "limits"
    assert select_objects(ConfigMap, fields="metadata.name!=limits").object_name == ""


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (dict, "dict is no kind of object: give a kind of bayplan.model"),
        (KubeObject, "KubeObject is no kind of object"),
        (5, "5 is no kind of object"),
        ("ConfigMap", "'ConfigMap' is no kind of object: .*did you mean bayplan.model.ConfigMap?"),
        ("configmap.v", "did you mean bayplan.model.ConfigMap?"),
        ("example.com/v1/foos", "'example.com/v1/foos' is no kind of object"),
    ],
    ids=str,
)
def test_what_is_no_kind_is_refused_in_a_sentence(kind: Any, sentence: str) -> None:
    with pytest.raises(PluginError, match=sentence):
        select_objects(kind)


@pytest.mark.parametrize(
    ("selectors", "sentence"),
    [
        ({"labels": "app=web,"}, "the selector of configmaps.v1 cannot be read: found ''"),
        ({"fields": "limits"}, "the selector of configmaps.v1 cannot be read: invalid selector"),
        ({"labels": {"app": "web"}}, "the selector of configmaps.v1 cannot be read"),
    ],
    ids=str,
)
def test_a_malformed_selector_is_refused(selectors: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PluginError, match=sentence):
        select_objects(ConfigMap, **selectors)


def test_cluster_scoped_objects_are_in_no_namespace() -> None:
    with pytest.raises(PluginError, match="Node objects are in no namespace; leave out namespace='ci'"):
        select_objects(Node, namespace="ci")
