"""CSI migration: in-tree volumes as the CSI drivers that replace their plugins see them.

Which driver counts an in-tree volume, under which handle, and the node affinity of a persistent volume on nodes
where its plugin has been migrated (zones use the driver's own label).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from bayplan.model import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm

if TYPE_CHECKING:
    from bayplan.model import CSINode, PersistentVolume, PersistentVolumeSpec, Volume

#: Annotation of a CSINode: the in-tree plugins that have been migrated on the node, separated by commas.
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"

_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_ZONES_SEPARATOR: Final = "__"
_AWS_VOLUME: Final = re.compile(r"vol-[^/]*")
_GCE_ZONAL: Final = "projects/UNSPECIFIED/zones/{}/disks/{}"
_GCE_REGIONAL: Final = "projects/UNSPECIFIED/regions/{}/disks/{}"


class TranslationError(Exception):
    """An in-tree volume that has no equivalent in CSI, in Kubernetes' words."""


class InTreePlugin(NamedTuple):
    """An in-tree storage plugin, and the CSI driver that replaces it."""

    #: The field of Volume and PersistentVolumeSpec that holds its source.
    source: str
    name: str
    driver: str
    #: The driver's own zone label; None if the node affinity of volumes stays as it is.
    zone_key: str | None = None
    #: Whether the scheduler takes the migration into account.
    is_migrated: bool = True


IN_TREE_PLUGINS: Final = (
    InTreePlugin("gce_persistent_disk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io", "topology.gke.io/zone"),
    InTreePlugin(
        "aws_elastic_block_store",
        "kubernetes.io/aws-ebs",
        "ebs.csi.aws.com",
        "topology.ebs.csi.aws.com/zone",
    ),
    InTreePlugin(
        "cinder",
        "kubernetes.io/cinder",
        "cinder.csi.openstack.org",
        "topology.cinder.csi.openstack.org/zone",
    ),
    InTreePlugin("azure_disk", "kubernetes.io/azure-disk", "disk.csi.azure.com"),
    InTreePlugin("portworx_volume", "kubernetes.io/portworx-volume", "pxd.portworx.com"),
    InTreePlugin("azure_file", "kubernetes.io/azure-file", "file.csi.azure.com", is_migrated=False),
    InTreePlugin("vsphere_volume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com", is_migrated=False),
)
PLUGIN_BY_NAME: Final = {plugin.name: plugin for plugin in IN_TREE_PLUGINS}


def in_tree_plugin(volume: Volume | PersistentVolumeSpec) -> InTreePlugin | None:
    """The in-tree plugin whose source the volume has."""
    for plugin in IN_TREE_PLUGINS:
        if getattr(volume, plugin.source) is not None:
            return plugin
    return None


def is_migrated_on(plugin: InTreePlugin, csi_node: CSINode | None) -> bool:
    """Whether the node uses the CSI driver for the plugin's volumes, according to its CSINode."""
    if csi_node is None:
        return False
    return plugin.name in csi_node.annotations.get(MIGRATED_PLUGINS, "").split(",")


# --- handles --------------------------------------------------------------------------------------


def volume_handle(volume: Volume | PersistentVolumeSpec, zones: str = "") -> str:
    """The handle under which the CSI driver knows the volume. Raises TranslationError.

    *zones* is the zone label of a persistent volume, which is part of a GCE disk's handle.
    """
    if volume.gce_persistent_disk is not None:
        return _gce_handle(volume.gce_persistent_disk.pd_name, zones)
    if volume.aws_elastic_block_store is not None:
        return _aws_handle(volume.aws_elastic_block_store.volume_id)
    if volume.azure_disk is not None:
        return _azure_handle(volume.azure_disk.kind, volume.azure_disk.disk_uri)
    if volume.cinder is not None:
        return volume.cinder.volume_id
    return volume.portworx_volume.volume_id if volume.portworx_volume is not None else ""


def persistent_volume_handle(volume: PersistentVolume) -> str:
    """The same for a persistent volume. Raises TranslationError."""
    zones = volume.labels.get(_BETA_ZONE, "") or volume.labels.get(_ZONE, "")
    return volume_handle(volume.spec, zones)


def _gce_handle(disk: str, label: str) -> str:
    zones = label.split(_ZONES_SEPARATOR)
    if len(zones) == 1:
        return _GCE_ZONAL.format(zones[0] or "UNSPECIFIED", disk)
    return _GCE_REGIONAL.format(_gce_region(zones), disk)


def _gce_region(zones: list[str]) -> str:
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise TranslationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        # Written as Go prints a set of strings.
        shown = "map[" + " ".join(f"{region}:{{}}" for region in sorted(regions)) + "]"
        raise TranslationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: {shown}"
        )
    return regions.pop()


def _aws_handle(volume_id: str) -> str:
    if not volume_id.startswith("aws://"):
        return volume_id
    handle = unquote(urlsplit(volume_id).path).strip("/")
    if not _AWS_VOLUME.fullmatch(handle):
        raise TranslationError(
            f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({volume_id})"
        )
    return handle


def _azure_handle(kind: str | None, disk_uri: str) -> str:
    if kind is not None and kind.casefold() != "managed":
        raise TranslationError(f"kind({kind}) is not supported in csi migration")
    return disk_uri


# --- topology -------------------------------------------------------------------------------------


def migrated_affinity(volume: PersistentVolume, plugin: InTreePlugin) -> NodeSelector | None:
    """The volume's node affinity on nodes where *plugin* has been migrated. Raises TranslationError."""
    persistent_volume_handle(volume)  # raises if the volume has no handle
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity is not None else None
    if plugin.zone_key is None:
        return required
    label = volume.labels.get(_ZONE)
    beta_label = volume.labels.get(_BETA_ZONE)
    return _translated(required, plugin.zone_key, label, beta_label)


@lru_cache(maxsize=1024)
def _translated(
    required: NodeSelector | None, zone_key: str, label: str | None, beta_label: str | None
) -> NodeSelector | None:
    keys = _keys_with_values(required)
    all_keys = {expression.key for expression in _expressions(required)}
    is_beta = _ZONE not in all_keys and (_BETA_ZONE in all_keys or (label is None and beta_label is not None))
    zone, listed = (_BETA_ZONE, beta_label) if is_beta else (_ZONE, label)
    renames = {_BETA_REGION: _REGION} if is_beta else {}
    if zone in keys:
        renames[zone] = zone_key
    elif listed is not None:
        required = _with_zones(required, zone_key, listed)
    return required and _renamed(required, renames)


def _expressions(required: NodeSelector | None) -> list[NodeSelectorRequirement]:
    terms = required.node_selector_terms if required is not None else ()
    return [expression for term in terms for expression in term.match_expressions]


def _keys_with_values(required: NodeSelector | None) -> set[str]:
    return {expression.key for expression in _expressions(required) if expression.values}


def _with_zones(required: NodeSelector | None, zone_key: str, label: str) -> NodeSelector | None:
    """Adds to every term the requirement of one of the zones in the volume's label."""
    zones = sorted({zone.strip() for zone in label.split(_ZONES_SEPARATOR)} - {""})
    if not zones:
        return required
    within = NodeSelectorRequirement(key=zone_key, operator="In", values=tuple(zones))
    terms = (required.node_selector_terms if required is not None else ()) or (NodeSelectorTerm(),)
    return NodeSelector(
        node_selector_terms=tuple(
            msgspec.structs.replace(term, match_expressions=(*term.match_expressions, within)) for term in terms
        )
    )


def _renamed(required: NodeSelector, renames: dict[str, str]) -> NodeSelector:
    return NodeSelector(
        node_selector_terms=tuple(
            msgspec.structs.replace(
                term,
                match_expressions=tuple(
                    msgspec.structs.replace(each, key=renames.get(each.key, each.key))
                    for each in term.match_expressions
                ),
            )
            for term in required.node_selector_terms
        )
    )
