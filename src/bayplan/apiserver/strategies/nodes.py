"""Nodes."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.registry.rest_strategy import Object, RestStrategy
from bayplan.apiserver.strategies.pods.scheduling_validation import taint_effect_causes
from bayplan.apiserver.validation.field_errors import duplicate, each, forbidden, invalid, required
from bayplan.apiserver.validation.name_validation import label_value_errors, qualified_name_errors
from bayplan.apiserver.validation.quantity_validation import amount_causes


class NodeStrategy(RestStrategy):
    """core/v1 Node. Its status may be set on creation, as kubelets do."""

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

    def validate(self, obj: Object) -> list[StatusCause]:
        found = list(_taint_causes(obj.get("spec", {}).get("taints", ())))
        found += _resource_causes(obj.get("status", {}))
        found += _cidr_causes(obj.get("spec", {}).get("podCIDRs", []))
        return found

    def validate_update(self, new: Object, old: Object) -> list[StatusCause]:
        return [*self.validate(new), *_change_causes(new, old)]

    def validate_status_update(self, new: Object, old: Object) -> list[StatusCause]:
        return [*_resource_causes(new.get("status", {})), *_change_causes(new, old)]

    def fields(self, obj: Object) -> Mapping[str, str]:
        return {"spec.unschedulable": "true" if obj.get("spec", {}).get("unschedulable") else "false"}


def _taint_causes(taints: Iterable[Object]) -> Iterator[StatusCause]:
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        field_path = f"metadata.taints[{i}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        yield from each(f"{field_path}.key", key, qualified_name_errors(key))
        complaints = label_value_errors(value)
        if complaints:
            yield invalid(f"{field_path}.value", value, ";".join(complaints))
        if effect:
            yield from taint_effect_causes(effect, f"{field_path}.effect")
        else:
            yield required(f"{field_path}.effect")
        if (key, effect) in seen:
            yield duplicate(field_path, taint)
        seen.add((key, effect))


def _resource_causes(status: Object) -> Iterator[StatusCause]:
    for key in ("capacity", "allocatable"):
        for name, text in status.get(key, {}).items():
            yield from amount_causes(name, text, f"status.{key}.{name}")


def _cidr_causes(cidrs: list[str]) -> Iterator[StatusCause]:
    families = []
    for i, cidr in enumerate(cidrs):
        try:
            families.append(ipaddress.ip_network(cidr, strict=False).version)
        except ValueError:
            text = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"spec.podCIDRs[{i}]", cidr, text)
    if len(cidrs) > 1 and (len(cidrs) > 2 or len(set(families)) != 2):
        yield invalid("spec.podCIDRs", cidrs, "may specify no more than one CIDR for each IP family")


def _change_causes(new: Object, old: Object) -> Iterator[StatusCause]:
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
