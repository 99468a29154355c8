"""The volume finder: on which nodes the claims of a pod can be satisfied, and by which volumes.

Bound claims need a volume that is available on the node. Claims that wait for their first consumer need a volume
to bind, or a node where one can be provisioned. All nodes of a table are searched at once; the bindings and
provisions on the chosen node are read from the same result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import BoolArray, Code, Informers, IntArray, NodeTable, Verdict
from bayplan.model import CSINode, LazyErrorNodeSelector, PersistentVolume, PersistentVolumeClaim
from bayplan.plugins.volumes._csi_migration import (
    InTreePlugin,
    TranslationError,
    in_tree_plugin,
    is_migrated_on,
    migrated_affinity,
)
from bayplan.plugins.volumes._volume_affinity import compile_affinity, volume_affinity
from bayplan.plugins.volumes._volume_matching import Match, match_claims
from bayplan.plugins.volumes._volume_provisioning import Provisioner

if TYPE_CHECKING:
    from bayplan.plugins.volumes._assume_cache import VolumeIndex

SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"

BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
VOLUME_MISSING: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


class PodVolumeClaims(NamedTuple):
    """The claims of a pod, in the order of its volumes."""

    bound: tuple[PersistentVolumeClaim, ...]
    #: Not bound yet, because they wait for their first consumer.
    delayed: tuple[PersistentVolumeClaim, ...]


class StaticBinding(NamedTuple):
    """A claim and the volume to bind it to."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume


class Availability(NamedTuple):
    """Where a volume is available; bool, shape (n_nodes,)."""

    available: BoolArray
    #: The error on the nodes in `failed`, where the volume's plugin has been migrated.
    error: str = ""
    failed: BoolArray | None = None


class VolumeSearchResult:
    """The result for the nodes of a table; masks are bool, shape (n_nodes,)."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.node_conflict = np.zeros(len(nodes), dtype=np.bool_)
        self.bind_conflict = np.zeros(len(nodes), dtype=np.bool_)
        self.not_enough_space = np.zeros(len(nodes), dtype=np.bool_)
        self.volume_missing = np.zeros(len(nodes), dtype=np.bool_)
        #: Volumes that cannot be translated to CSI: the error, and the nodes.
        self.errors: list[tuple[str, BoolArray]] = []
        self.matches: Sequence[Match] = ()
        #: Claims, the nodes on which they are to be provisioned, and how much capacity these have.
        self.provisions_by_capacity: list[tuple[PersistentVolumeClaim, BoolArray, IntArray]] = []
        #: Claims that are to be provisioned on the node that was selected earlier.
        self.selected: Sequence[PersistentVolumeClaim] = ()

    def verdict(self) -> Verdict:
        verdict = self._nodes.accept_all()
        for error, where in self.errors:
            verdict = verdict.reject(where, error, Code.ERROR)
        for where, reason in (
            (self.node_conflict, NODE_CONFLICT),
            (self.bind_conflict, BIND_CONFLICT),
            (self.not_enough_space, NOT_ENOUGH_SPACE),
            (self.volume_missing, VOLUME_MISSING),
        ):
            if where.any():
                verdict = verdict.reject(where, reason, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return verdict

    def bindings(self, position: int) -> list[StaticBinding]:
        """The volumes to bind if the pod goes to the node at *position*."""
        found = ((match.claim, match.volume_on(position)) for match in self.matches)
        return [StaticBinding(claim, volume) for claim, volume in found if volume is not None]

    def provisions(self, position: int) -> list[PersistentVolumeClaim]:
        """The claims to provision if the pod goes to the node at *position*."""
        unmatched = [match.claim for match in self.matches if match.volume_on(position) is None]
        return [*self.selected, *unmatched]


class VolumeFinder:
    """Finds volumes for the claims of pods."""

    def __init__(self, informers: Informers, index: VolumeIndex) -> None:
        self._index = index
        self._csi_nodes = informers.lister(CSINode)
        self._provisioner = Provisioner(informers)

    def find(self, claims: PodVolumeClaims, nodes: NodeTable) -> VolumeSearchResult:
        """Search *nodes*. Raises MatchError and ProvisionError."""
        result = VolumeSearchResult(nodes)
        self._check_bound(claims.bound, nodes, result)
        if claims.delayed:
            self._check_delayed(claims.delayed, nodes, result)
        return result

    # --- bound claims -----------------------------------------------------------------------------

    def _check_bound(
        self, claims: Sequence[PersistentVolumeClaim], nodes: NodeTable, result: VolumeSearchResult
    ) -> None:
        """The first claim that fails on a node decides the reason."""
        undecided = np.ones(len(nodes), dtype=np.bool_)
        for claim in claims:
            volume = self._index.volumes.get(claim.spec.volume_name)
            if volume is None:
                result.volume_missing |= undecided
                return
            availability = self.availability(volume, nodes)
            if availability.failed is not None:
                result.errors.append((availability.error, undecided & availability.failed))
            result.node_conflict |= undecided & ~availability.available
            undecided &= availability.available

    def availability(self, volume: PersistentVolume, nodes: NodeTable) -> Availability:
        """Where the volume is available, depending on whether its plugin has been migrated on the node."""
        available = _matching(volume_affinity(volume), nodes)
        plugin = in_tree_plugin(volume.spec)
        if plugin is None or not plugin.is_migrated:
            return Availability(available)
        migrated = self._migrated(plugin, nodes)
        if not migrated.any():
            return Availability(available)
        try:
            translated = compile_affinity(migrated_affinity(volume, plugin))
        except TranslationError as error:
            return Availability(available & ~migrated, f"could not translate pv: {error}", migrated)
        return Availability(np.where(migrated, _matching(translated, nodes), available))

    def _migrated(self, plugin: InTreePlugin, nodes: NodeTable) -> BoolArray:
        on_nodes = (is_migrated_on(plugin, self._csi_nodes.get(name)) for name in nodes.names)
        return np.fromiter(on_nodes, dtype=np.bool_, count=len(nodes))

    # --- claims that wait for their first consumer ------------------------------------------------

    def _check_delayed(
        self, claims: Sequence[PersistentVolumeClaim], nodes: NodeTable, result: VolumeSearchResult
    ) -> None:
        result.selected = [claim for claim in claims if SELECTED_NODE in claim.annotations]
        elsewhere = np.zeros(len(nodes), dtype=np.bool_)
        for claim in result.selected:
            elsewhere |= nodes.names != claim.annotations[SELECTED_NODE]
        result.bind_conflict |= elsewhere
        to_match = [claim for claim in claims if SELECTED_NODE not in claim.annotations]
        result.matches = match_claims(to_match, self._index, nodes)
        self._check_provisions(nodes, result, ~elsewhere)

    def _check_provisions(self, nodes: NodeTable, result: VolumeSearchResult, undecided: BoolArray) -> None:
        """Unmatched claims must be provisioned; again the first that fails on a node decides the reason."""
        everywhere = np.ones(len(nodes), dtype=np.bool_)
        left = [(claim, everywhere) for claim in result.selected]
        left += [(match.claim, ~match.found) for match in result.matches]
        for claim, where in left:
            where = where & undecided
            if not where.any():
                continue
            provisionable = self._provisioner.check(claim, nodes)
            result.provisions_by_capacity.append((claim, where, provisionable.capacity))
            result.bind_conflict |= where & ~provisionable.allowed
            result.not_enough_space |= where & provisionable.allowed & ~provisionable.sufficient
            undecided = undecided & ~(where & ~(provisionable.allowed & provisionable.sufficient))


def _matching(affinity: LazyErrorNodeSelector | None, nodes: NodeTable) -> BoolArray:
    return np.ones(len(nodes), dtype=np.bool_) if affinity is None else nodes.matches(affinity)
