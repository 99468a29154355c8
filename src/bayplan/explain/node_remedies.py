"""Remedies that change a node, or add one: one obstacle at a node in, edits out."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bayplan.explain.affinity_remedies import failing_expressions, matches_required
from bayplan.explain.amounts import amount_text
from bayplan.explain.changes import without_server_fields
from bayplan.explain.pod_remedies import UNSCHEDULABLE_KEY, is_condition_taint, untolerated_taints
from bayplan.explain.remedy import NODE, Edit, Remedy, Site, joined
from bayplan.model import Pod

UNCORDON: Final = 20.0
LABEL: Final = 35.0
UNTAINT: Final = 40.0

#: Labels that say what a node is: to change them would be a lie.
_FACTS: Final = ("kubernetes.io/", "topology.kubernetes.io/", "node.kubernetes.io/instance-type")
#: Facts that may be missing, and then be added.
_TOPOLOGY: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_HOSTNAME: Final = "kubernetes.io/hostname"


def uncordoning(site: Site) -> Iterator[Remedy]:
    yield Remedy(f"uncordon {site.node.name}", UNCORDON, NODE, edit_node=_uncordon, key="uncordon")


def _uncordon(manifest: dict[str, Any]) -> None:
    manifest["spec"].pop("unschedulable", None)
    _drop_taints(manifest, [UNSCHEDULABLE_KEY])


def untainting(pod: Pod, site: Site) -> Iterator[Remedy]:
    """A cordoned node has a taint, too; it is uncordoned then."""
    taints = untolerated_taints(pod, site)
    if not taints or any(is_condition_taint(taint) for taint in taints):
        return
    texts = [str(taint) for taint in taints if taint.key != UNSCHEDULABLE_KEY]
    if not texts:
        yield from uncordoning(site)
        return
    keys = [taint.key for taint in taints]
    is_cordoned = UNSCHEDULABLE_KEY in keys
    summary = f"remove the taint{'s' if len(texts) > 1 else ''} {joined(texts)} from {site.node.name}"
    yield Remedy(
        f"uncordon {site.node.name} and {summary}" if is_cordoned else summary,
        UNTAINT * len(texts) + (UNCORDON if is_cordoned else 0.0),
        NODE,
        edit_node=_uncordon_and(keys) if is_cordoned else partial(_drop_taints, keys=keys),
        key=f"untaint {sorted(texts)}{' uncordon' if is_cordoned else ''}",
    )


def _uncordon_and(keys: Sequence[str]) -> Edit:
    def edit(manifest: dict[str, Any]) -> None:
        _uncordon(manifest)
        _drop_taints(manifest, keys)

    return edit


def _drop_taints(manifest: dict[str, Any], keys: Sequence[str]) -> None:
    left = [taint for taint in manifest["spec"].get("taints") or () if taint.get("key") not in keys]
    manifest["spec"].pop("taints", None)
    if left:
        manifest["spec"]["taints"] = left


def labelling(pod: Pod, site: Site) -> Iterator[Remedy]:
    """With the labels that nodeSelector and required node affinity want."""
    wanted: dict[str, str | None] = {
        key: value for key, value in pod.spec.node_selector.items() if site.node.labels.get(key) != value
    }
    if not matches_required(pod, site):
        expressions = failing_expressions(pod, site)
        if not expressions:
            return
        for expression in expressions:
            key, value = str(expression.get("key", "")), _matching_value(expression)
            if wanted.get(key, value) != value:
                return
            wanted[key] = value
    yield from _with_labels(site, wanted)


def _with_labels(site: Site, wanted: Mapping[str, str | None]) -> Iterator[Remedy]:
    if not wanted or any(_is_fact(key) for key in wanted):
        return
    texts = [f"{key}={value}" if value is not None else f"{key}-" for key, value in sorted(wanted.items())]
    yield Remedy(
        f"label {site.node.name} {' '.join(texts)}",
        LABEL + 3.0 * (len(texts) - 1),
        NODE,
        edit_node=partial(_set_labels, labels=wanted),
        key=f"label {texts}",
    )


def labelling_topology(site: Site, domains: Mapping[str, str]) -> Iterator[Remedy]:
    """With topology labels that are missing; *domains*: key → a value that other nodes have."""
    missing = {key: value for key, value in domains.items() if key not in site.node.labels}
    if not missing or any(_is_fact(key) and key not in (*_TOPOLOGY, _HOSTNAME) for key in missing):
        return
    labels = {key: site.node.name if key == _HOSTNAME else value for key, value in missing.items()}
    texts = [f"{key}={value}" for key, value in sorted(labels.items())]
    yield Remedy(
        f"label {site.node.name} {' '.join(texts)}",
        LABEL + 3.0 * (len(texts) - 1),
        NODE,
        edit_node=partial(_set_labels, labels=labels),
        key=f"label {sorted(missing)}",
    )


def _is_fact(key: str) -> bool:
    return key.startswith(_FACTS)


def _matching_value(expression: Mapping[str, Any]) -> str | None:
    """A value of the label that matches; None if the label must be absent, or can be."""
    values = [str(value) for value in expression.get("values") or ()]
    match expression.get("operator"):
        case "In":
            return values[0] if values else None
        case "Exists":
            return "true"
        case "Gt":
            return str(int(values[0]) + 1) if values and values[0].lstrip("-").isdigit() else None
        case "Lt":
            return str(int(values[0]) - 1) if values and values[0].lstrip("-").isdigit() else None
    return None


def _set_labels(manifest: dict[str, Any], labels: Mapping[str, str | None]) -> None:
    present = {**(manifest["metadata"].get("labels") or {}), **labels}
    manifest["metadata"]["labels"] = {key: value for key, value in present.items() if value is not None}


# --- one more node ----------------------------------------------------------------------------------------


def new_node(model: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A node like *model*, under another name: ready, empty and schedulable."""
    manifest = without_server_fields(model)
    metadata, spec = manifest["metadata"], manifest.setdefault("spec", {})
    labels = {
        key: name if value == metadata["name"] else value for key, value in metadata.get("labels", {}).items()
    }
    manifest["metadata"] = {"name": name, "labels": labels}
    taints = [each for each in spec.get("taints") or () if not _is_by_condition(each)]
    manifest["spec"] = {"taints": taints} if taints else {}
    status = model.get("status") or {}
    allocatable = status.get("allocatable") or status.get("capacity") or {}
    manifest["status"] = {
        "capacity": dict(status.get("capacity") or allocatable),
        "allocatable": dict(allocatable),
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
    }
    if features := status.get("declaredFeatures"):
        manifest["status"]["declaredFeatures"] = copy.deepcopy(features)
    return manifest


def _is_by_condition(taint: Mapping[str, Any]) -> bool:
    key = str(taint.get("key", ""))
    return key == UNSCHEDULABLE_KEY or key.startswith(("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/"))


def enlarge(manifest: dict[str, Any], resource: str, amount: int) -> None:
    """Let a new node have at least *amount* of a resource."""
    for field in ("allocatable", "capacity"):
        present = manifest["status"].get(field)
        if present is not None:
            present[resource] = amount_text(resource, amount)
