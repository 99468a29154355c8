"""ClaimTracker: the claims of the cluster as the scheduler knows them, ahead of the watch.

A claim goes through three states here. Reserve makes its allocation *pending*: its devices count as taken, though
nothing is written. PreBind writes the claim and *assumes* the answer of the API server. Then the watch shows it.
Shared by all profiles: a device that one gives away is taken for the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from bayplan.devices.allocated_devices import AllocatedDevices
from bayplan.model import EXTENDED_RESOURCE_CLAIM, AllocationResult, Pod, ResourceClaim


class ClaimTracker:
    """See the module's docstring."""

    def __init__(self, allocated: AllocatedDevices) -> None:
        self._allocated = allocated
        #: By key: the newest version, whether the watch has shown it yet or not.
        self._latest: dict[str, ResourceClaim] = {}
        #: By key: as the watch showed it.
        self._watched: dict[str, ResourceClaim] = {}
        #: By uid.
        self._pending: dict[str, AllocationResult] = {}
        #: Uid of a pod → the keys of the claims for its extended resources.
        self._extended: defaultdict[str, set[str]] = defaultdict(set)

    # --- reading ----------------------------------------------------------------------------------

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        return self._latest.get(f"{namespace}/{name}")

    def of_pod(self, pod: Pod) -> list[ResourceClaim]:
        """The claims that the pod names, as far as they exist; those from templates included."""
        made = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
        names = (each.resource_claim_name or made.get(each.name) for each in pod.spec.resource_claims)
        found = (self.get(pod.namespace, name) for name in names if name)
        return [claim for claim in found if claim is not None]

    def __iter__(self) -> Iterator[ResourceClaim]:
        return iter(self._latest.values())

    def pending(self, uid: str) -> AllocationResult | None:
        """The allocation that is decided but not written."""
        return self._pending.get(uid)

    def extended_resource_claim(self, pod: Pod) -> ResourceClaim | None:
        """The claim that was created for the pod's extended resources."""
        keys = self._extended.get(pod.uid)
        return self._latest[min(keys)] if keys else None

    # --- the scheduler's own changes --------------------------------------------------------------

    def set_pending(self, uid: str, allocation: AllocationResult) -> None:
        """The devices are taken from now on."""
        self._pending[uid] = allocation
        self._allocated.hold_pending(uid, allocation)

    def drop_pending(self, uid: str) -> bool:
        """The allocation was written, or is given up. False if there was none."""
        if self._pending.pop(uid, None) is None:
            return False
        self._allocated.hold_pending(uid, None)
        return True

    def assume(self, claim: ResourceClaim) -> bool:
        """The API server has this version now. False if the watch has shown a newer one, or none at all."""
        latest = self._latest.get(claim.key)
        if latest is None or _version(claim) < _version(latest):
            return False
        self._set(latest, claim)
        return True

    def restore(self, namespace: str, name: str) -> None:
        """Return to the version that the watch showed."""
        key = f"{namespace}/{name}"
        self._set(self._latest.get(key), self._watched.get(key))

    # --- the watch --------------------------------------------------------------------------------

    def claim_changed(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        shown = new if new is not None else old
        if shown is None:
            return
        latest = self._latest.get(shown.key)
        if new is None:
            self._watched.pop(shown.key, None)
            self._set(latest, None)
            return
        self._watched[new.key] = new
        if latest is None or latest.uid != new.uid or _version(new) >= _version(latest):
            self._set(latest, new)

    def _set(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if old is not None:
            self._forget(old, new)
        if new is not None:
            self._latest[new.key] = new
            self._allocated.hold(new.uid, new.status.allocation)
            for uid in _extended_for(new):
                self._extended[uid].add(new.key)

    def _forget(self, old: ResourceClaim, new: ResourceClaim | None) -> None:
        del self._latest[old.key]
        if new is None or new.uid != old.uid:
            self._allocated.hold(old.uid, None)
        for uid in _extended_for(old):
            self._extended[uid].discard(old.key)
            if not self._extended[uid]:
                del self._extended[uid]


def _version(claim: ResourceClaim) -> int:
    version = claim.resource_version
    return int(version) if version.isdecimal() else 0


def _extended_for(claim: ResourceClaim) -> Iterator[str]:
    if claim.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
        for owner in claim.metadata.owner_references:
            if owner.controller:
                yield owner.uid
