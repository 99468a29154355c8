"""Devices of simulated nodes: what is given, and what is published."""

from __future__ import annotations

import pytest

from bayplan.apiserver.simulation.manifest_applier import ManifestError
from bayplan.apiserver.simulation.simulated_devices import (
    SimulatedDevices,
    devices_of_node,
    parse_devices,
    read_devices,
)

FILE = """
- name: gpu
  count: 2
  nodes: {pool: training}
  attributes:
    model: A100
    numa: [0, 1]
    ecc: true
    driverVersion: {version: 1.2.3}
  capacity: {memory: 80Gi}
- {name: gpu, count: 1}
- {name: nic, count: 1}
"""


def test_the_short_form() -> None:
    devices = parse_devices("gpu=8")

    assert devices == SimulatedDevices("gpu", 8)
    assert devices.device_class()["spec"] == {
        "selectors": [{"cel": {"expression": 'device.driver == "gpu.bayplan.dev"'}}],
        "extendedResourceName": "bayplan.dev/gpu",
    }


def test_a_file_describes_attributes_and_capacity() -> None:
    """A list has a value for each device."""
    first = read_devices(FILE, "f")[0]

    (published,) = first.slices("node-1")

    assert published["spec"]["devices"][1] == {
        "name": "gpu-1",
        "attributes": {
            "index": {"int": 1},
            "model": {"string": "A100"},
            "numa": {"int": 1},
            "ecc": {"bool": True},
            "driverVersion": {"version": "1.2.3"},
        },
        "capacity": {"memory": {"value": "80Gi"}},
    }


def test_the_first_entry_that_fits_counts() -> None:
    """Nodes of one pool may have other GPUs than the rest."""
    devices = read_devices(FILE, "f")

    assert [(each.name, each.count) for each in devices_of_node(devices, {"pool": "training"})] == [
        ("gpu", 2),
        ("nic", 1),
    ]
    assert [(each.name, each.count) for each in devices_of_node(devices, {})] == [("gpu", 1), ("nic", 1)]


def test_many_devices_need_several_slices() -> None:
    """A slice has at most 128; the pool says how many slices there are."""
    slices = parse_devices("gpu=300").slices("a")

    assert [len(each["spec"]["devices"]) for each in slices] == [128, 128, 44]
    assert {each["spec"]["pool"]["resourceSliceCount"] for each in slices} == {3}
    assert len({device["name"] for each in slices for device in each["spec"]["devices"]}) == 300


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("gpu", "'gpu' does not say what devices a node has: write NAME=COUNT", id="no number"),
        pytest.param("gpu=many", "write NAME=COUNT, for example gpu=8", id="a word for a number"),
        pytest.param("GPU=1", "the name 'GPU' is not usable", id="capitals"),
        pytest.param("=1", "the name '' is not usable", id="no name"),
        pytest.param("gpu=0", "0 devices on a node: write at least 1", id="none"),
    ],
)
def test_a_wrong_short_form_is_explained(text: str, words: str) -> None:
    with pytest.raises(ManifestError, match=words):
        parse_devices(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{", "f: not YAML: line 1", id="not YAML"),
        pytest.param("name: gpu", "f: not a list of devices", id="one entry alone"),
        pytest.param("- {name: gpu}", "f: entry 1: .*count", id="no count"),
        pytest.param("- {name: gpu, count: 1, colour: red}", "f: entry 1: .*colour", id="an unknown field"),
        pytest.param(
            "- {name: a, count: 1}\n- {name: gpu, count: 3, attributes: {numa: [0, 1]}}",
            "f: entry 2: the attribute numa has 2 values for 3 devices: write one for each device",
            id="too few values",
        ),
        pytest.param(
            "- {name: gpu, count: 1, attributes: {speed: 1.5}}",
            "the attribute speed is neither text, nor a whole number",
            id="a fraction",
        ),
    ],
)
def test_a_wrong_file_is_explained(text: str, words: str) -> None:
    """With the place."""
    with pytest.raises(ManifestError, match=words):
        read_devices(text, "f")
