"""Remedies that change what a pod requests, tolerates and mounts: one obstacle at a node in, edits out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bayplan.explain.amounts import amount_text, lower_request, rounded_down
from bayplan.explain.remedy import POD, NotPossibleError, Remedy, Site, joined
from bayplan.model import Pod, Taint, find_untolerated

UNSCHEDULABLE_KEY: Final = "node.kubernetes.io/unschedulable"
#: Taints that a controller sets and removes by the state of the node: neither tolerating nor removing them makes
#: the node a good place.
CONDITION_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")

TOLERATE: Final = 30.0
LOWER_REQUEST: Final = 50.0
DROP_PORT: Final = 60.0
DROP_VOLUME: Final = 95.0
DROP_CLAIM: Final = 95.0


def is_condition_taint(taint: Taint) -> bool:
    return taint.key.startswith(CONDITION_TAINTS) and taint.key != UNSCHEDULABLE_KEY


# --- gates ------------------------------------------------------------------------------------------------


def without_gates(pod: Pod) -> Remedy:
    names = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    gates = "scheduling gate" if len(pod.spec.scheduling_gates) == 1 else "scheduling gates"
    return Remedy(f"remove the {gates} {names}", 10.0, POD, edit_pod=_drop_gates, key="gates")


def _drop_gates(manifest: dict[str, Any]) -> None:
    manifest["spec"].pop("schedulingGates", None)


# --- taints -----------------------------------------------------------------------------------------------


def tolerating(pod: Pod, site: Site) -> Iterator[Remedy]:
    taints = untolerated_taints(pod, site)
    if not taints or any(is_condition_taint(taint) for taint in taints):
        return
    texts = [str(taint) for taint in taints]
    cost = sum(TOLERATE + (25.0 if taint.key == UNSCHEDULABLE_KEY else 0.0) for taint in taints)
    edit = partial(_add_tolerations, tolerations=[_toleration(taint) for taint in taints])
    yield Remedy(f"tolerate {joined(texts)}", cost, POD, edit_pod=edit, key=f"tolerate {sorted(texts)}")


def untolerated_taints(pod: Pod, site: Site) -> list[Taint]:
    left = list(site.node.taints)
    found: list[Taint] = []
    while (taint := find_untolerated(left, pod.spec.tolerations)) is not None:
        found.append(taint)
        left = [each for each in left if each is not taint]
    return found


def tolerating_cordon(pod: Pod, site: Site) -> Iterator[Remedy]:
    taint = Taint(key=UNSCHEDULABLE_KEY, effect="NoSchedule")
    edit = partial(_add_tolerations, tolerations=[_toleration(taint)])
    yield Remedy(f"tolerate {taint!s}", TOLERATE + 25.0, POD, edit_pod=edit, key=f"tolerate {[str(taint)]}")


def _toleration(taint: Taint) -> dict[str, str]:
    if taint.value:
        return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
    return {"key": taint.key, "operator": "Exists", "effect": taint.effect}


def _add_tolerations(manifest: dict[str, Any], tolerations: Sequence[Mapping[str, str]]) -> None:
    present = manifest["spec"].get("tolerations") or []
    manifest["spec"]["tolerations"] = [*present, *(each for each in tolerations if each not in present)]


# --- resources --------------------------------------------------------------------------------------------


def lowering(pod: Pod, site: Site, resource: str) -> Iterator[Remedy]:
    requested = int(pod.spec_requests.get(resource, 0))
    target = rounded_down(resource, max(site.free.get(resource, 0), 0))
    if not requested or target >= requested:
        return
    fraction = (requested - target) / requested
    wanted = f"request {amount_text(resource, target)} {resource}" if target else f"request no {resource}"
    yield Remedy(
        f"{wanted} instead of {amount_text(resource, requested)}",
        LOWER_REQUEST + 40.0 * fraction + (0.0 if target else 20.0),
        POD,
        edit_pod=partial(_lower, resource=resource, target=target),
        key=f"lower {resource}",
    )


def _lower(manifest: dict[str, Any], resource: str, target: int) -> None:
    if not lower_request(manifest, resource, target):
        raise NotPossibleError(f"the containers cannot request less {resource}")


# --- ports ------------------------------------------------------------------------------------------------


def dropping_ports(pod: Pod, site: Site) -> Iterator[Remedy]:
    taken = [port for other in site.pods for port in other.host_ports]
    wanted = sorted({port.port for port in pod.host_ports if any(port.conflicts_with(each) for each in taken)})
    if wanted:
        texts = joined([str(port) for port in wanted])
        yield Remedy(
            f"give up the host port{'s' if len(wanted) > 1 else ''} {texts}",
            DROP_PORT,
            POD,
            edit_pod=partial(_drop_ports, ports=wanted),
            key=f"ports {wanted}",
        )


def _drop_ports(manifest: dict[str, Any], ports: Sequence[int]) -> None:
    """On the host's network a container port is a host port, so there the whole entry goes."""
    spec = manifest["spec"]
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        for port in container.get("ports") or ():
            if port.get("hostPort") in ports:
                del port["hostPort"]
        if spec.get("hostNetwork"):
            container["ports"] = [
                each for each in container.get("ports") or () if each.get("containerPort") not in ports
            ]


# --- volumes ----------------------------------------------------------------------------------------------

_DISKS: Final = ("persistentVolumeClaim", "ephemeral", "gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd",
                 "azureDisk", "csi")  # fmt: skip


def dropping_volumes(pod: Pod) -> Iterator[Remedy]:
    """With an emptyDir in the place of one volume, and of all volumes that tie the pod to nodes."""
    tied = [each["name"] for each in pod.raw["spec"].get("volumes") or () if any(kind in each for kind in _DISKS)]
    for names in dict.fromkeys((name,) for name in tied) | ({tuple(tied): None} if len(tied) > 1 else {}):
        yield Remedy(
            f"use an emptyDir for the volume{'s' if len(names) > 1 else ''} {joined(names)}",
            DROP_VOLUME + 10.0 * (len(names) - 1),
            POD,
            edit_pod=partial(_drop_volumes, names=names),
            key=f"volumes {names}",
            notes=("what is on the volume is not in an emptyDir",),
        )


def _drop_volumes(manifest: dict[str, Any], names: Sequence[str]) -> None:
    manifest["spec"]["volumes"] = [
        {"name": each["name"], "emptyDir": {}} if each["name"] in names else each
        for each in manifest["spec"]["volumes"]
    ]


# --- devices ----------------------------------------------------------------------------------------------


def dropping_claims(pod: Pod) -> Iterator[Remedy]:
    """Without one of its resource claims, and without all of them."""
    names = [each.name for each in pod.spec.resource_claims]
    for dropped in dict.fromkeys((name,) for name in names) | ({tuple(names): None} if len(names) > 1 else {}):
        yield Remedy(
            f"do without the resource claim{'s' if len(dropped) > 1 else ''} {joined(dropped)}",
            DROP_CLAIM + 10.0 * (len(dropped) - 1),
            POD,
            edit_pod=partial(_drop_claims, names=dropped),
            key=f"claims {dropped}",
            notes=("the pod gets no device then",),
        )


def _drop_claims(manifest: dict[str, Any], names: Sequence[str]) -> None:
    spec = manifest["spec"]
    spec["resourceClaims"] = [each for each in spec["resourceClaims"] if each["name"] not in names]
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        resources = container.get("resources") or {}
        if "claims" in resources:
            resources["claims"] = [each for each in resources["claims"] if each["name"] not in names]
