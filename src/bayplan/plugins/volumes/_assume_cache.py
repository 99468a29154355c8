"""Assumed volumes and claims: what Reserve has decided and the API server does not have yet.

An assumed object replaces the stored one of the same resourceVersion. It is dropped when it is restored, or when
the watch delivers a newer version (because of the bind, or of another change).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from bayplan.model import KubeObject, LazyErrorNodeSelector, PersistentVolume, PersistentVolumeClaim
from bayplan.plugins.volumes._volume_affinity import single_label, storage_amount, volume_affinity

if TYPE_CHECKING:
    from bayplan.framework import Informers

T = TypeVar("T", bound=KubeObject)
#: Namespace and name.
Key: TypeAlias = tuple[str, str]


class AssumeError(Exception):
    """The object changed between the decision and Reserve."""


class AssumeCache(Generic[T]):
    """The objects of one kind, with assumed versions in place of the stored ones."""

    def __init__(self, informers: Informers, kind: type[T], changed: Callable[[str], None] | None = None) -> None:
        self._lister = informers.lister(kind)
        self._kind = kind
        self._assumed: dict[Key, T] = {}
        #: Called with the name of every object that changed.
        self._changed = changed if changed is not None else lambda name: None
        informers.on_change(kind, self._observe)

    def get(self, name: str, namespace: str = "") -> T | None:
        stored = self._lister.get(name, namespace)
        assumed = self._assumed.get((namespace, name))
        if stored is None or assumed is None or assumed.resource_version != stored.resource_version:
            return stored
        return assumed

    def stored(self, name: str, namespace: str = "") -> T | None:
        """The version of the API server, even if another one is assumed."""
        return self._lister.get(name, namespace)

    def assume(self, value: T) -> None:
        """Replace the stored object by *value*. Raises AssumeError."""
        stored = self._lister.get(value.name, value.namespace)
        if stored is None:
            raise AssumeError(f'{self._kind.PLURAL} "{value.key}" not found')
        if stored.resource_version != value.resource_version:
            raise AssumeError(
                f'"{value.key}" is out of sync '
                f"(stored: {stored.resource_version}, assume: {value.resource_version})"
            )
        self._assumed[value.namespace, value.name] = value
        self._changed(value.name)

    def restore(self, value: T) -> None:
        """Return to the stored object, unless another version has been assumed since."""
        key = (value.namespace, value.name)
        assumed = self._assumed.get(key)
        if assumed is not None and assumed.resource_version == value.resource_version:
            del self._assumed[key]
            self._changed(value.name)

    def _observe(self, old: T | None, new: T | None) -> None:
        seen = new if new is not None else old
        if seen is None:
            return
        key = (seen.namespace, seen.name)
        assumed = self._assumed.get(key)
        if assumed is not None and (new is None or new.resource_version != assumed.resource_version):
            del self._assumed[key]
        self._changed(seen.name)


class OpenVolume(NamedTuple):
    """A volume without a claim, with precomputed values for matching."""

    volume: PersistentVolume
    #: Its capacity; comparable.
    amount: float
    access_modes: frozenset[str]
    affinity: LazyErrorNodeSelector | None
    #: The affinity as one label and its allowed values, if it consists of no more.
    single_label: tuple[str, frozenset[str]] | None


class VolumeIndex:
    """Persistent volumes, those without a claim by storage class and the others by their claim.

    So a claim is not compared with the many volumes of other claims.
    """

    def __init__(self, informers: Informers) -> None:
        self._open: defaultdict[str, dict[str, OpenVolume]] = defaultdict(dict)
        self._named: defaultdict[Key, dict[str, PersistentVolume]] = defaultdict(dict)
        #: Volume → the key under which it is indexed.
        self._indexed_under: dict[str, str | Key] = {}
        self.volumes = AssumeCache(informers, PersistentVolume, self._reindex)
        for volume in informers.lister(PersistentVolume).list():
            self._reindex(volume.name)

    def open_volumes(self, class_name: str) -> Iterable[OpenVolume]:
        """The volumes of a class without a claim."""
        return self._open.get(class_name, {}).values()

    def volumes_for(self, claim: PersistentVolumeClaim) -> list[PersistentVolume]:
        """The volumes that name this claim and have its class."""
        named = self._named.get((claim.namespace, claim.name), {}).values()
        return [
            volume
            for volume in named
            if is_bound_to(volume, claim) and volume.storage_class_name == claim.storage_class_name
        ]

    def _reindex(self, name: str) -> None:
        key = self._indexed_under.pop(name, None)
        if isinstance(key, str):
            del self._open[key][name]
        elif key is not None:
            del self._named[key][name]
            if not self._named[key]:
                del self._named[key]
        volume = self.volumes.get(name)
        if volume is not None:
            self._index(name, volume)

    def _index(self, name: str, volume: PersistentVolume) -> None:
        claim = volume.spec.claim_ref
        if claim is not None:
            key = (claim.namespace, claim.name)
            self._named[key][name] = volume
            self._indexed_under[name] = key
            return
        class_name = volume.storage_class_name
        affinity = volume_affinity(volume)
        self._open[class_name][name] = OpenVolume(
            volume,
            storage_amount(volume.spec.capacity),
            frozenset(volume.spec.access_modes),
            affinity,
            single_label(affinity),
        )
        self._indexed_under[name] = class_name


def is_bound_to(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether the volume names the claim; without a uid, any claim of that name matches."""
    reference = volume.spec.claim_ref
    if reference is None or (reference.namespace, reference.name) != (claim.namespace, claim.name):
        return False
    return not reference.uid or reference.uid == claim.uid
