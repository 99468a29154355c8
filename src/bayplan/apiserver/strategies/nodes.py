"""Nodes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping

from bayplan.apiserver.causes import duplicate, each, forbidden, invalid, required
from bayplan.apiserver.names import label_value_errors, qualified_name_errors
from bayplan.apiserver.status import Cause
from bayplan.apiserver.strategies.pod_scheduling import taint_effect_causes
from bayplan.apiserver.strategies.quantities import amount_causes
from bayplan.apiserver.strategy import Object, Strategy


class NodeStrategy(Strategy):
    """core/v1 Node. Its status may be given on creation, as kubelets do."""

    has_status = True
    selectable_fields = ("spec.unschedulable",)
    selects_namespace = False

    def default(self, obj: Object) -> None:
        status = obj.get("status", {})
        if "allocatable" not in status and "capacity" in status:
            status["allocatable"] = dict(status["capacity"])
        spec = obj.setdefault("spec", {})
        # The first of the CIDRs has a field of its own.
        if spec.get("podCIDRs") and spec.get("podCIDR") != spec["podCIDRs"][0]:
            if spec.get("podCIDR"):
                spec["podCIDRs"] = [spec["podCIDR"]]
            else:
                del spec["podCIDRs"]
        elif spec.get("podCIDR") and not spec.get("podCIDRs"):
            spec["podCIDRs"] = [spec["podCIDR"]]

    def prepare_create(self, obj: Object) -> None:
        obj.get("spec", {}).pop("configSource", None)
        obj.get("status", {}).pop("config", None)

    def prepare_update(self, new: Object, old: Object) -> None:
        new["status"] = old.get("status", {})

    def validate(self, obj: Object) -> list[Cause]:
        found = list(_taint_causes(obj.get("spec", {}).get("taints", ())))
        found += _resource_causes(obj.get("status", {}))
        found += _cidr_causes(obj.get("spec", {}).get("podCIDRs", []))
        return found

    def validate_update(self, new: Object, old: Object) -> list[Cause]:
        return [*self.validate(new), *_change_causes(new, old)]

    def validate_status_update(self, new: Object, old: Object) -> list[Cause]:
        return [*_resource_causes(new.get("status", {})), *_change_causes(new, old)]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"spec.unschedulable": "true" if obj.get("spec", {}).get("unschedulable") else "false"}


def _taint_causes(taints: Iterable[Object]) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        place = f"metadata.taints[{i}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        yield from each(f"{place}.key", key, qualified_name_errors(key))
        complaints = label_value_errors(value)
        if complaints:
            yield invalid(f"{place}.value", value, ";".join(complaints))
        if effect:
            yield from taint_effect_causes(effect, f"{place}.effect")
        else:
            yield required(f"{place}.effect")
        if (key, effect) in seen:
            yield duplicate(place, taint)
        seen.add((key, effect))


def _resource_causes(status: Object) -> Iterator[Cause]:
    for key in ("capacity", "allocatable"):
        for name, text in status.get(key, {}).items():
            yield from amount_causes(name, text, f"status.{key}.{name}")


def _cidr_causes(cidrs: list[str]) -> Iterator[Cause]:
    families = []
    for i, cidr in enumerate(cidrs):
        try:
            families.append(ipaddress.ip_network(cidr, strict=False).version)
        except ValueError:
            text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"spec.podCIDRs[{i}]", cidr, text)
    if len(cidrs) > 1 and (len(cidrs) > 2 or len(set(families)) != 2):
        yield invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family")


def _change_causes(new: Object, old: Object) -> Iterator[Cause]:
    spec, before = new.get("spec", {}), old.get("spec", {})
    addresses: list[Object] = []
    for i, address in enumerate(new.get("status", {}).get("addresses", ())):
        if address in addresses:
            yield duplicate(f"status.addresses[{i}]", address)
        addresses.append(address)
    if before.get("podCIDRs") and before["podCIDRs"] != spec.get("podCIDRs"):
        yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and before["providerID"] != spec.get("providerID"):
        yield forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid')
    yield from _taint_causes(spec.get("taints", ()))
