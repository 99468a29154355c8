"""Devices of simulated nodes: what `--devices` and `Cluster(devices=…)` take.

    gpu=8                                 eight devices on every node

or a YAML file with a list of entries:

    - name: gpu
      count: 8
      nodes: {pool: training}             only on nodes with these labels
      attributes:
        model: A100
        numa: [0, 0, 0, 0, 1, 1, 1, 1]    a list has one value for each device
      capacity: {memory: 80Gi}

Of several entries of one name, the first that fits a node counts. The devices of an entry have the driver
`gpu.bayplan.dev` and the DeviceClass `gpu`, which also stands for the extended resource `bayplan.dev/gpu`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import yaml

from bayplan.apiserver.simulation.manifest_applier import ManifestError
from bayplan.controllers.api_objects import Object

DOMAIN: Final = "bayplan.dev"
RESOURCE: Final = "resource.k8s.io/v1"
#: Of one ResourceSlice.
MAX_DEVICES: Final = 128
_NAME: Final = re.compile("[a-z]([-a-z0-9]{0,29}[a-z0-9])?")
_EXAMPLE: Final = "for example gpu=8, or the name of a YAML file"


class SimulatedDevices(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of devices, the same number on each of its nodes."""

    name: str
    count: int
    #: Labels of the nodes that have them; all nodes if there are none.
    nodes: dict[str, str] = {}
    attributes: dict[str, Any] = {}
    capacity: dict[str, str | int] = {}

    @property
    def driver(self) -> str:
        return f"{self.name}.{DOMAIN}"

    def are_on(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels has them."""
        return all(labels.get(key) == value for key, value in self.nodes.items())

    def device_class(self) -> Object:
        selector = {"cel": {"expression": f'device.driver == "{self.driver}"'}}
        spec = {"selectors": [selector], "extendedResourceName": f"{DOMAIN}/{self.name}"}
        return {"apiVersion": RESOURCE, "kind": "DeviceClass", "metadata": {"name": self.name}, "spec": spec}

    def slices(self, node_name: str) -> list[Object]:
        """The ResourceSlices of a node."""
        devices = [self._device(i) for i in range(self.count)]
        parts = [devices[i : i + MAX_DEVICES] for i in range(0, len(devices), MAX_DEVICES)]
        pool = {"name": node_name, "generation": 1, "resourceSliceCount": len(parts)}
        return [
            {
                "apiVersion": RESOURCE,
                "kind": "ResourceSlice",
                "metadata": {"name": f"{node_name}-{self.driver}-{i}"},
                "spec": {"driver": self.driver, "nodeName": node_name, "pool": pool, "devices": part},
            }
            for i, part in enumerate(parts)
        ]

    def _device(self, i: int) -> Object:
        attributes = {"index": {"int": i}}
        attributes |= {name: _attribute(_of_device(value, i)) for name, value in self.attributes.items()}
        device: Object = {"name": f"{self.name}-{i}", "attributes": attributes}
        if self.capacity:
            device["capacity"] = {name: {"value": str(amount)} for name, amount in self.capacity.items()}
        return device


def _of_device(value: Any, i: int) -> Any:
    return value[i] if isinstance(value, list) else value


def _attribute(value: Any) -> Object:
    if isinstance(value, dict):
        return value
    kind = "bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string"
    return {kind: value}


def parse_devices(text: str) -> SimulatedDevices:
    """`gpu=8`; ManifestError if it has another form."""
    name, _, count = text.partition("=")
    if not count.isdecimal():
        raise ManifestError(f"{text!r} does not say what devices a node has: write NAME=COUNT, {_EXAMPLE}")
    devices = SimulatedDevices(name, int(count))
    _check(devices, repr(text))
    return devices


def devices_of_node(devices: Iterable[SimulatedDevices], labels: Mapping[str, str]) -> list[SimulatedDevices]:
    """What a node with these labels has; of several entries of one name, the first that fits counts."""
    chosen: dict[str, SimulatedDevices] = {}
    for each in devices:
        if each.are_on(labels):
            chosen.setdefault(each.name, each)
    return list(chosen.values())


def read_devices(text: str, where: str) -> list[SimulatedDevices]:
    """The devices of a YAML file; ManifestError if something is wrong with it."""
    try:
        entries = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        raise ManifestError(f"{where}: not YAML: {place}{getattr(error, 'problem', None) or error}") from error
    if not isinstance(entries, list):
        raise ManifestError(f"{where}: not a list of devices; an entry is {{name: gpu, count: 8}}")
    return [_entry(entry, f"{where}: entry {position}") for position, entry in enumerate(entries, start=1)]


def _entry(entry: object, where: str) -> SimulatedDevices:
    try:
        devices = msgspec.convert(entry, SimulatedDevices)
    except msgspec.ValidationError as error:
        raise ManifestError(f"{where}: {error}") from error
    _check(devices, where)
    return devices


def _check(devices: SimulatedDevices, where: str) -> None:
    if not _NAME.fullmatch(devices.name):
        text = "at most 31 lower case letters, digits and dashes, beginning with a letter"
        raise ManifestError(f"{where}: the name {devices.name!r} is not usable: write {text}; {_EXAMPLE}")
    if devices.count < 1:
        raise ManifestError(f"{where}: {devices.count} devices on a node: write at least 1")
    for name, value in devices.attributes.items():
        values = value if isinstance(value, list) else [value]
        if isinstance(value, list) and len(value) != devices.count:
            why = f"has {len(value)} values for {devices.count} devices"
            raise ManifestError(f"{where}: the attribute {name} {why}: write one for each device")
        if not all(isinstance(each, str | int | bool | dict) for each in values):
            why = "is neither text, nor a whole number, nor true or false"
            raise ManifestError(f"{where}: the attribute {name} {why}; quote it if it is text")
