"""Static matching: a persistent volume for every claim that waits for its first consumer, on all nodes at once.

On each node a claim gets the volume that names it, otherwise the smallest volume that is large enough, has the
same class and modes, matches the claim's selector and is available on the node. The claims of a pod choose in
order of size, and a volume that one claim has chosen on a node is not available to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import BoolArray, IntArray, LabelColumn, NodeTable
from bayplan.model import (
    LazyErrorNodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    SelectorError,
    compile_selector,
)
from bayplan.plugins.volumes._volume_affinity import storage_amount, volume_affinity

if TYPE_CHECKING:
    from bayplan.plugins.volumes._assume_cache import OpenVolume, VolumeIndex

_FILESYSTEM: Final = "Filesystem"
_AVAILABLE: Final = "Available"


class MatchError(Exception):
    """A claim cannot be matched with any volume, in Kubernetes' words."""


class Match(NamedTuple):
    """The volume of one claim on each node of a table."""

    claim: PersistentVolumeClaim
    volumes: Sequence[PersistentVolume]
    #: int64, shape (n_nodes,): position in `volumes`; len(volumes) if the claim gets none.
    chosen: IntArray

    @property
    def found(self) -> BoolArray:
        return self.chosen < len(self.volumes)

    def volume_on(self, position: int) -> PersistentVolume | None:
        """The volume of the claim on the node at *position*."""
        chosen = int(self.chosen[position])
        return self.volumes[chosen] if chosen < len(self.volumes) else None


def match_claims(claims: Iterable[PersistentVolumeClaim], index: VolumeIndex, nodes: NodeTable) -> list[Match]:
    """Match the claims of a pod, smallest first. Raises MatchError."""
    matcher = _Matcher(index, nodes)
    in_order = sorted(claims, key=lambda claim: storage_amount(claim.spec.resources.requests))
    return [matcher.match(claim) for claim in in_order]


class _Matcher:
    """Matches the claims of one pod, one after the other."""

    def __init__(self, index: VolumeIndex, nodes: NodeTable) -> None:
        self._index = index
        self._nodes = nodes
        #: Name of a volume → its number; assigned as volumes are considered.
        self._numbers: dict[str, int] = {}
        #: For each claim matched so far: the number of the volume it gets on each node, −1 for none.
        self._taken: list[IntArray] = []

    def match(self, claim: PersistentVolumeClaim) -> Match:
        open_volumes = sorted(_suitable(claim, self._index), key=lambda each: (each.amount, each.volume.name))
        prebound = [volume for volume in self._index.volumes_for(claim) if _could_hold(volume, claim)]
        volumes = [*(each.volume for each in open_volumes), *prebound]
        numbers = np.array([self._number(volume) for volume in volumes] + [-1], dtype=np.int64)
        chosen = self._smallest(open_volumes, numbers)
        # From last to first: if several volumes name the claim, the first one decides.
        for rank in range(len(volumes) - 1, len(open_volumes) - 1, -1):
            mine = np.where(_available_on(volumes[rank], self._nodes), rank, len(volumes))
            chosen = np.where(self._is_free(int(numbers[rank])), mine, chosen)
        self._taken.append(numbers[chosen])
        return Match(claim, volumes, chosen)

    def _number(self, volume: PersistentVolume) -> int:
        return self._numbers.setdefault(volume.name, len(self._numbers))

    def _is_free(self, number: int) -> BoolArray:
        free = np.ones(len(self._nodes), dtype=np.bool_)
        for taken in self._taken:
            free &= taken != number
        return free

    def _smallest(self, open_volumes: Sequence[OpenVolume], numbers: IntArray) -> IntArray:
        """For each node, the first volume that is available there and that no earlier claim has taken."""
        none = len(numbers) - 1
        # As many as earlier claims may have taken, plus one.
        ranks = _available_ranks(open_volumes, self._nodes, depth=len(self._taken) + 1, none=none)
        for taken in self._taken:
            ranks = np.where(numbers[ranks] == taken, none, ranks)
        smallest: IntArray = ranks.min(axis=0, initial=none)
        return smallest


# --- suitable volumes -----------------------------------------------------------------------------


def _suitable(claim: PersistentVolumeClaim, index: VolumeIndex) -> Iterator[OpenVolume]:
    """The volumes without a claim that suit this claim, whatever the node."""
    wanted = storage_amount(claim.spec.resources.requests)
    selector = None
    if claim.spec.selector is not None:
        try:
            selector = compile_selector(claim.spec.selector)
        except SelectorError as error:
            text = f"error creating internal label selector for claim: {claim.key}: {error}"
            raise MatchError(text) from None
    for each in index.open_volumes(claim.storage_class_name):
        volume = each.volume
        if (
            each.amount >= wanted
            and volume.status.phase == _AVAILABLE
            and _same_kind(volume, claim)
            and each.access_modes.issuperset(claim.spec.access_modes)
            and (selector is None or selector.matches(volume.labels))
        ):
            yield each


def _could_hold(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume that names the claim can be bound to it; phase, labels and access modes are ignored."""
    wanted = storage_amount(claim.spec.resources.requests)
    return storage_amount(volume.spec.capacity) >= wanted and _same_kind(volume, claim)


def _same_kind(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    return (
        (volume.spec.volume_mode or _FILESYSTEM) == (claim.spec.volume_mode or _FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


# --- availability on nodes ------------------------------------------------------------------------


def _available_on(volume: PersistentVolume, nodes: NodeTable) -> BoolArray:
    affinity = volume_affinity(volume)
    return np.ones(len(nodes), dtype=np.bool_) if affinity is None else nodes.matches(affinity)


def _available_ranks(volumes: Sequence[OpenVolume], nodes: NodeTable, *, depth: int, none: int) -> IntArray:
    """int64, shape (n_options, n_nodes): ranks of the volumes available on each node, with the lowest *depth*.

    Volumes of one node or zone, by far the most, are sorted by the label's value instead of being compared with
    every node; of those with the same affinity only the first ones matter.
    """
    by_label: dict[str, _ByLabel] = {}
    by_affinity: dict[LazyErrorNodeSelector | None, list[int]] = {}
    for rank, (_, _, _, affinity, label) in enumerate(volumes):
        if label is not None:
            key, values = label
            if key not in by_label:
                by_label[key] = _ByLabel(nodes.label(key), depth, none)
            by_label[key].add(values, rank)
            continue
        same = by_affinity.setdefault(affinity, [])
        if len(same) < depth:
            same.append(rank)
        elif affinity is None:
            break  # every node has enough of these, and the rest are larger
    options = [column.options() for column in by_label.values()]
    for affinity, ranks in by_affinity.items():
        available = np.ones(len(nodes), dtype=np.bool_) if affinity is None else nodes.matches(affinity)
        options.append(np.where(available, np.array(ranks, dtype=np.int64)[:, np.newaxis], none))
    return np.concatenate(options) if options else np.empty((0, len(nodes)), dtype=np.int64)


class _ByLabel:
    """The lowest *depth* ranks for every value of one label."""

    def __init__(self, column: LabelColumn, depth: int, none: int) -> None:
        self._column = column
        self._codes = {value: code for code, value in enumerate(column.values)}
        self._used = [0] * len(column.values)
        #: The last column is for nodes without the label.
        self._ranks = np.full((depth, len(column.values) + 1), none, dtype=np.int64)

    def add(self, values: Iterable[str], rank: int) -> None:
        """Called in the order of ranks."""
        for value in values:
            code = self._codes.get(value)
            if code is not None and self._used[code] < len(self._ranks):
                self._ranks[self._used[code], code] = rank
                self._used[code] += 1

    def options(self) -> IntArray:
        picked: IntArray = self._ranks[:, self._column.codes]  # −1, absent, selects the last column
        return picked
