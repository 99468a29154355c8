"""Static matching: the smallest volume that suits a claim, on every node."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench
from tests.unit.plugins.volumes.storage import affinity, make_claim, make_class, make_volume, pod_claiming, terms

from bayplan.framework import CycleState, Status
from bayplan.model import PersistentVolume, PersistentVolumeClaim
from bayplan.plugins.volumes._assume_cache import VolumeIndex
from bayplan.plugins.volumes._volume_matching import Match, MatchError, match_claims
from bayplan.plugins.volumes.volume_binding import VolumeBinding
from bayplan.testing import make_node

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NODES = [make_node("a", labels={ZONE: "z1"}), make_node("b", labels={ZONE: "z2"}), make_node("c")]


def chosen(claims: list[PersistentVolumeClaim], volumes: list[PersistentVolume]) -> dict[str, list[str | None]]:
    """Claim → the volume it gets on a, b and c."""
    bench = Bench(NODES)
    for volume in volumes:
        bench.objects.set(volume)
    matches = match_claims(claims, VolumeIndex(bench.handle.informers), bench.nodes)
    by_node = [dict(names_on(matches, position)) for position in range(len(NODES))]
    return {claim.name: [names[claim.name] for names in by_node] for claim in claims}


@pytest.mark.parametrize(
    ("volume", "suits"),
    [
        pytest.param(make_volume("v"), True, id="a larger one"),
        pytest.param(make_volume("v", size="5Gi"), True, id="one of the same size"),
        pytest.param(make_volume("v", size="5368709119"), False, id="one that is a byte too small"),
        pytest.param(make_volume("v", storage_class="x"), False, id="one of another class"),
        pytest.param(
            make_volume(
                "v",
                storage_class="x",
                metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "local"}},
            ),
            True,
            id="one of the class by annotation",
        ),
        pytest.param(make_volume("v", phase="Released"), False, id="one that is not available"),
        pytest.param(make_volume("v", modes=["ReadOnlyMany"]), False, id="one without the access mode"),
        pytest.param(make_volume("v", modes=["ReadOnlyMany", "ReadWriteOnce"]), True, id="one with more modes"),
        pytest.param(make_volume("v", volumeMode="Filesystem"), True, id="a file system, which is the default"),
        pytest.param(make_volume("v", volumeMode="Block"), False, id="a block device"),
        pytest.param(make_volume("v", volumeAttributesClassName="x"), False, id="one of an attributes class"),
        pytest.param(make_volume("v", claim="other"), False, id="somebody else's"),
        pytest.param(
            make_volume("v", claim="x", claim_uid="old"), False, id="one of an earlier claim of that name"
        ),
        pytest.param(make_volume("v", claim="x"), True, id="one that names the claim"),
        pytest.param(
            make_volume("v", claim="x", claim_uid="claim-x"), True, id="one that names the claim by its uid"
        ),
        pytest.param(
            make_volume("v", claim="x", phase="Bound", modes=["ReadOnlyMany"]),
            True,
            id="the claim's own, in any state",
        ),
        pytest.param(make_volume("v", claim="x", size="1Gi"), False, id="the claim's own, but too small"),
        pytest.param(
            make_volume("v", claim="x", storage_class="x"), False, id="the claim's own, of another class"
        ),
        pytest.param(
            make_volume("v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), False, id="being deleted"
        ),
    ],
)
def test_suitable_volumes(volume: PersistentVolume, suits: bool) -> None:
    """What a volume must be for a claim of 5Gi, class local, ReadWriteOnce."""
    assert chosen([make_claim("x")], [volume]) == {"x": ["v" if suits else None] * 3}


def test_claim_selects_by_labels() -> None:
    claim = make_claim("x", selector={"matchLabels": {"disk": "ssd"}})
    volumes = [make_volume("v", size="6Gi"), make_volume("w", labels={"disk": "ssd"})]
    assert chosen([claim], volumes) == {"x": ["w", "w", "w"]}


def test_smallest_goes_first() -> None:
    """Of the volumes that a node reaches, the smallest; a larger one elsewhere does not matter."""
    volumes = [
        make_volume("large"),
        make_volume("at-a", size="6Gi", nodeAffinity=affinity(HOST, "a")),
        make_volume("in-z2", size="7Gi", nodeAffinity=affinity(ZONE, "z2", "z3")),
        make_volume(
            "not-z2",
            size="8Gi",
            nodeAffinity=terms({"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["z2"]}]}),
        ),
    ]
    assert chosen([make_claim("x")], volumes) == {"x": ["at-a", "in-z2", "not-z2"]}


def test_volume_that_names_the_claim_goes_first() -> None:
    """It is taken however large it is, and where it cannot be reached there is no other."""
    volumes = [make_volume("small"), make_volume("mine", size="1Ti", claim="x", nodeAffinity=affinity(HOST, "a"))]
    assert chosen([make_claim("x")], volumes) == {"x": ["mine", None, None]}


def test_claims_do_not_share_volumes() -> None:
    """The smaller claim chooses first, and what it takes on a node is gone there for the other."""
    volumes = [
        make_volume("v10", size="10Gi"),
        make_volume("v20", size="20Gi"),
        make_volume("at-a", size="5Gi", nodeAffinity=affinity(HOST, "a")),
    ]
    found = chosen([make_claim("large", size="8Gi"), make_claim("small", size="4Gi")], volumes)
    assert found == {"small": ["at-a", "v10", "v10"], "large": ["v10", "v20", "v20"]}


def test_invalid_selector_is_an_error() -> None:
    claim = make_claim("x", selector={"matchExpressions": [{"key": "k", "operator": "Near", "values": ["v"]}]})
    with pytest.raises(MatchError, match="error creating internal label selector for claim: default/x: "):
        chosen([claim], [])
    bench = Bench(NODES)
    for each in (claim, make_class("local")):
        bench.objects.set(each)
    plugin = bench.plugin(VolumeBinding)
    assert isinstance(_filter(bench, plugin), Status)


def _filter(bench: Bench, plugin: VolumeBinding) -> Any:
    state, pod = CycleState(), pod_claiming("p", "x")
    assert plugin.pre_filter(state, pod, bench.nodes).is_success
    return plugin.filter_nodes(state, pod, bench.nodes)


# --- all nodes at once, and one by one ------------------------------------------------------------

AFFINITIES = (
    None,
    affinity(HOST, "a"),
    affinity(HOST, "b", "c"),
    affinity(ZONE, "z1"),
    terms({"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}),
    terms({"matchExpressions": [{"key": ZONE, "operator": "DoesNotExist"}]}),
)
VOLUMES: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    size=st.sampled_from(["4Gi", "6Gi", "8Gi"]),
    claim=st.sampled_from(["", "", "", "x", "other"]),
    phase=st.sampled_from(["Available", "Available", "Bound"]),
    nodeAffinity=st.sampled_from(AFFINITIES),
)
CLAIMS = st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), st.sampled_from(["3Gi", "5Gi", "7Gi"])), max_size=4)


def naive(
    node: Any, claims: list[PersistentVolumeClaim], volumes: list[PersistentVolume]
) -> list[tuple[str, str | None]]:
    """The documented rule, for one node."""
    taken: set[str] = set()
    found: list[tuple[str, str | None]] = []
    for claim in sorted(claims, key=lambda claim: claim.storage):
        free = [each for each in volumes if each.name not in taken and claim.storage <= each.storage]
        own = [each for each in free if each.spec.claim_ref and each.spec.claim_ref.name == claim.name]
        rest = [each for each in free if not each.spec.claim_ref and each.status.phase == "Available"]
        rest = sorted((each for each in rest if reaches(node, each)), key=lambda each: (each.storage, each.name))
        best = own[0] if own and reaches(node, own[0]) else None if own else rest[0] if rest else None
        if best is not None:
            taken.add(best.name)
        found.append((claim.name, None if best is None else best.name))
    return found


def reaches(node: Any, volume: PersistentVolume) -> bool:
    if volume.spec.node_affinity is None or volume.spec.node_affinity.required is None:
        return True
    (term,) = volume.spec.node_affinity.required.node_selector_terms
    (each,) = term.match_expressions
    value = node.labels.get(each.key)
    return {"In": value in each.values, "Exists": value is not None, "DoesNotExist": value is None}[each.operator]


def names_on(matches: list[Match], position: int) -> list[tuple[str, str | None]]:
    """Claim and volume of each match on one node."""
    found = [(match.claim.name, match.volume_on(position)) for match in matches]
    return [(claim, None if volume is None else volume.name) for claim, volume in found]


@given(volumes=st.lists(VOLUMES, max_size=8), claims=CLAIMS)
def test_all_nodes_at_once_as_one_by_one(volumes: list[dict[str, Any]], claims: list[tuple[str, str]]) -> None:
    """Matching over columns gives every node what matching it alone would."""
    made = [make_volume(f"v{i}", **{k: v for k, v in each.items() if v}) for i, each in enumerate(volumes)]
    wanted = [make_claim(name, size=size) for name, size in claims]
    bench = Bench(NODES)
    for volume in made:
        bench.objects.set(volume)
    index = VolumeIndex(bench.handle.informers)
    matches = match_claims(wanted, index, bench.nodes)
    for i, node in enumerate(NODES):
        got = names_on(matches, i)
        assert got == naive(node, wanted, made)
        alone = match_claims(wanted, index, bench.nodes.select(bench.nodes.rows[i : i + 1]))
        assert names_on(alone, 0) == got
