"""In-tree volumes as CSI drivers see them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.unit.plugins.volumes.storage import affinity, csi, make_csi_node, make_volume, terms

from bayplan.model import VolumeNodeAffinity
from bayplan.plugins.volumes._csi_migration import (
    MIGRATED_PLUGINS,
    PLUGIN_BY_NAME,
    TranslationError,
    in_tree_plugin,
    is_migrated_on,
    migrated_affinity,
    persistent_volume_handle,
)

ZONE, BETA_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
REGION, BETA_REGION = "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region"
GCE: dict[str, Any] = {"gcePersistentDisk": {"pdName": "d"}}
EBS: dict[str, Any] = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
EBS_ZONE = "topology.ebs.csi.aws.com/zone"


@pytest.mark.parametrize(
    ("source", "labels", "handle"),
    [
        pytest.param(GCE, {}, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="GCE without a zone"),
        pytest.param(GCE, {ZONE: "us-x1-a"}, "projects/UNSPECIFIED/zones/us-x1-a/disks/d", id="GCE in a zone"),
        pytest.param(
            GCE,
            {BETA_ZONE: "us-x1-a__us-x1-b"},
            "projects/UNSPECIFIED/regions/us-x1/disks/d",
            id="GCE in a region",
        ),
        pytest.param(EBS, {}, "vol-1", id="AWS"),
        pytest.param({"awsElasticBlockStore": {"volumeID": "aws:///vol-2"}}, {}, "vol-2", id="AWS as a URL"),
        pytest.param({"azureDisk": {"diskURI": "/x", "kind": "managed"}}, {}, "/x", id="Azure"),
        pytest.param({"cinder": {"volumeID": "v"}}, {}, "v", id="Cinder"),
        pytest.param({"portworxVolume": {"volumeID": "v"}}, {}, "v", id="Portworx"),
    ],
)
def test_handles(source: dict[str, Any], labels: dict[str, str], handle: str) -> None:
    assert persistent_volume_handle(make_volume("v", labels=labels, **source)) == handle


@pytest.mark.parametrize(
    ("source", "labels", "message"),
    [
        pytest.param(
            GCE,
            {ZONE: "a__b"},
            "failed to get region from zones: zone in unexpected format, "
            "expected: {locale}-{region}-{zone}, got: a",
            id="GCE zones that are none",
        ),
        pytest.param(
            GCE,
            {ZONE: "us-x1-a__us-x2-a"},
            "failed to get region from zones: multiple or no regions gotten from zones, "
            "got: map[us-x1:{} us-x2:{}]",
            id="GCE zones of two regions",
        ),
        pytest.param(
            {"awsElasticBlockStore": {"volumeID": "aws://z/disk"}},
            {},
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://z/disk)",
            id="AWS volume that is none",
        ),
        pytest.param(
            {"azureDisk": {"diskURI": "/x", "kind": "Shared"}},
            {},
            "kind(Shared) is not supported in csi migration",
            id="Azure disk that is not managed",
        ),
    ],
)
def test_handles_that_cannot_be(source: dict[str, Any], labels: dict[str, str], message: str) -> None:
    with pytest.raises(TranslationError) as raised:
        persistent_volume_handle(make_volume("v", labels=labels, **source))
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("given", "labels", "translated"),
    [
        pytest.param(None, {}, None, id="nothing to translate"),
        pytest.param(affinity(ZONE, "a"), {}, affinity(EBS_ZONE, "a"), id="zone"),
        pytest.param(
            affinity(BETA_ZONE, "a"), {ZONE: "b"}, affinity(EBS_ZONE, "a"), id="older zone, before labels"
        ),
        pytest.param(None, {ZONE: "b__a__"}, affinity(EBS_ZONE, "a", "b"), id="zones by label"),
        pytest.param(None, {BETA_ZONE: "a"}, affinity(EBS_ZONE, "a"), id="zone by older label"),
        pytest.param(affinity(REGION, "r"), {}, affinity(REGION, "r"), id="a region stays"),
        pytest.param(
            terms(
                {
                    "matchExpressions": [
                        {"key": BETA_ZONE, "operator": "In", "values": ["a"]},
                        {"key": BETA_REGION, "operator": "In", "values": ["r"]},
                    ]
                }
            ),
            {},
            terms(
                {
                    "matchExpressions": [
                        {"key": EBS_ZONE, "operator": "In", "values": ["a"]},
                        {"key": REGION, "operator": "In", "values": ["r"]},
                    ]
                }
            ),
            id="the older region becomes the newer",
        ),
    ],
)
def test_migrated_affinity(given: Any, labels: dict[str, str], translated: Any) -> None:
    """Zones move to the driver's own label; where the affinity names none, they are taken from the labels."""
    more: dict[str, Any] = {"nodeAffinity": given} if given else {}
    volume = make_volume("v", labels=labels, **EBS, **more)
    plugin = in_tree_plugin(volume.spec)
    assert plugin is not None
    found = migrated_affinity(volume, plugin)
    assert found == (None if translated is None else msgspec.convert(translated, VolumeNodeAffinity).required)


def test_affinity_of_drivers_without_zones_stays() -> None:
    volume = make_volume("v", cinder=None, azureDisk={"diskURI": "u"}, nodeAffinity=affinity(ZONE, "a"))
    plugin = PLUGIN_BY_NAME["kubernetes.io/azure-disk"]
    assert in_tree_plugin(volume.spec) is plugin
    assert volume.spec.node_affinity is not None
    assert migrated_affinity(volume, plugin) == volume.spec.node_affinity.required


def test_csi_volumes_have_no_in_tree_plugin() -> None:
    assert in_tree_plugin(make_volume("v", csi=csi("h")).spec) is None


def test_migrated_by_annotation_of_csi_node() -> None:
    plugin = PLUGIN_BY_NAME["kubernetes.io/aws-ebs"]
    listed = {MIGRATED_PLUGINS: "kubernetes.io/gce-pd,kubernetes.io/aws-ebs"}
    assert is_migrated_on(plugin, make_csi_node("n", annotations=listed))
    assert not is_migrated_on(plugin, make_csi_node("n"))
    assert not is_migrated_on(plugin, None)
