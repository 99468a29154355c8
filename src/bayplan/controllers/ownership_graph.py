"""OwnershipGraph: who owns whom, over all kinds. Pure: comes in metadata, goes out nodes.

An owner need not be known to have dependents: its kind may be seen later, or never.
"""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from bayplan.model.kube_object import OwnerReference, json_name
from bayplan.watch.local_store import ObjectIdentity

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"


class OwnedMeta(Protocol):
    """What the graph needs of an object's metadata."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def deletion_timestamp(self) -> str | None: ...
    @property
    def finalizers(self) -> tuple[str, ...]: ...
    @property
    def owner_references(self) -> tuple[OwnerReference, ...]: ...


class _Metadata(msgspec.Struct, frozen=True, rename=json_name, gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class OwnedObject(msgspec.Struct, frozen=True, gc=False):
    """An object of any kind, of which only owners and deletion matter."""

    metadata: _Metadata

    @property
    def identity(self) -> ObjectIdentity:
        meta = self.metadata
        key = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
        return key, meta.uid, meta.resource_version


class OwnershipNode(msgspec.Struct, frozen=True, gc=False):
    """One object: where it is, whom it names as owners, and whether it goes."""

    #: `apiVersion kind namespace/name`
    key: str
    uid: str
    owners: tuple[OwnerReference, ...]
    #: Its deletion waits for its dependents (foreground).
    awaits_dependents: bool
    #: Its deletion waits until its dependents no longer name it.
    orphans_dependents: bool

    def blocks(self, owner: str) -> bool:
        """Whether it holds up the foreground deletion of the owner with this uid."""
        return any(each.uid == owner and each.block_owner_deletion for each in self.owners)


def node_of_meta(key: str, meta: OwnedMeta) -> OwnershipNode:
    finalizers = meta.finalizers if meta.deletion_timestamp is not None else ()
    return OwnershipNode(key, meta.uid, meta.owner_references, FOREGROUND in finalizers, ORPHAN in finalizers)


class OwnershipGraph:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._nodes: dict[str, OwnershipNode] = {}
        #: uid of an owner → uids of its dependents, in the order in which they were seen.
        self._dependents: dict[str, dict[str, None]] = {}

    def find(self, uid: str) -> OwnershipNode | None:
        return self._nodes.get(uid)

    def dependents(self, uid: str) -> list[OwnershipNode]:
        return [self._nodes[each] for each in self._dependents.get(uid, ())]

    def put(self, node: OwnershipNode) -> OwnershipNode | None:
        """Add or replace a node; returns the one before."""
        before = self._nodes.get(node.uid)
        self._nodes[node.uid] = node
        if before is not None:
            self._unlink(before)
        for owner in node.owners:
            self._dependents.setdefault(owner.uid, {})[node.uid] = None
        return before

    def remove(self, uid: str) -> None:
        """The links from its dependents stay: they are what makes them garbage."""
        node = self._nodes.pop(uid, None)
        if node is not None:
            self._unlink(node)

    def _unlink(self, node: OwnershipNode) -> None:
        for owner in node.owners:
            dependents = self._dependents.get(owner.uid)
            if dependents is not None:
                dependents.pop(node.uid, None)
                if not dependents:
                    del self._dependents[owner.uid]
