"""Which resource names mean what."""

import pytest

from bayplan.model import (
    is_counted_resource,
    is_dra_extended_resource_name,
    is_extended_resource_name,
    is_native_resource,
    is_scalar_resource_name,
)


@pytest.mark.parametrize(
    ("name", "extended", "scalar", "counted"),
    [
        pytest.param("cpu", False, False, True, id="cpu"),
        pytest.param("pods", False, False, True, id="pods"),
        pytest.param("foo", False, False, False, id="no domain"),
        pytest.param("example.com/gpu", True, True, True, id="domain of its own"),
        pytest.param("requests.example.com/gpu", False, False, False, id="quota prefix"),
        pytest.param("kubernetes.io/thing", False, True, True, id="domain of Kubernetes"),
        pytest.param("sub.kubernetes.io/thing", False, True, True, id="below the domain of Kubernetes"),
        pytest.param("hugepages-2Mi", False, True, True, id="huge pages"),
        pytest.param("attachable-volumes-csi-x", False, True, True, id="attachable volumes"),
        pytest.param("Example.com/gpu", False, False, False, id="invalid domain"),
        pytest.param("example.com/a/b", False, False, False, id="two slashes"),
        pytest.param("example.com/", False, False, False, id="no name"),
    ],
)
def test_kinds_of_names(name: str, extended: bool, scalar: bool, counted: bool) -> None:
    """Extended names have a valid domain other than kubernetes.io; scalar are those beside the basic ones."""
    assert is_extended_resource_name(name) == extended
    assert is_scalar_resource_name(name) == scalar
    assert is_counted_resource(name) == counted


def test_device_classes_are_extended_for_dra() -> None:
    """deviceclass.resource.kubernetes.io/… is native by name, and extended where devices are concerned."""
    name = "deviceclass.resource.kubernetes.io/gpu"

    assert is_native_resource(name)
    assert is_dra_extended_resource_name(name)
    assert not is_dra_extended_resource_name("foo")
