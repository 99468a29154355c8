"""The resource claims of a recorded scenario: what the API server and the claim controller do with them.

The scheduler writes claims through `request`, as it would through a client. The controller makes claims from
templates, and releases those of pods that are gone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from bayplan.core import SchedulerCore
from bayplan.model import EXTENDED_RESOURCE_CLAIM, Pod, ResourceClaim, ResourceClaimTemplate

_IDENTITY: Final = {"apiVersion": ResourceClaim.API_VERSION, "kind": ResourceClaim.KIND}


class RecordedClaims:
    """Implements as much of `framework.Client` as claims need."""

    def __init__(self) -> None:
        self.core: SchedulerCore | None = None
        self._numbers = itertools.count(10**9)
        #: Pod name → what was written to its status.
        self.pod_statuses: dict[str, dict[str, Any]] = {}

    @property
    def _objects(self) -> Any:
        assert self.core is not None  # noqa: S101  set as soon as there is a core
        return self.core.objects

    def all(self) -> Iterable[ResourceClaim]:
        found: Iterable[ResourceClaim] = self._objects.lister(ResourceClaim).list()
        return found

    # --- the API server ---------------------------------------------------------------------------

    async def bind(self, pod: Pod, node_name: str) -> None:
        raise NotImplementedError("the recorded bind is carried out instead")

    async def request(
        self, method: str, path: str, body: object | None = None, *, content_type: str | None = None
    ) -> dict[str, Any]:
        parts = path.removeprefix("/").split("/")
        if parts[0] == "api":
            return self._patch_pod(parts, body)
        namespace, rest = parts[4], parts[6:]
        return self._answer(method, namespace, rest, body if isinstance(body, dict) else {})

    def _patch_pod(self, parts: list[str], body: Any) -> dict[str, Any]:
        self.pod_statuses[parts[5]] = body["status"]
        return {}

    def _answer(self, method: str, namespace: str, rest: list[str], body: dict[str, Any]) -> dict[str, Any]:
        if method == "POST":
            return self._store({**body, "metadata": self._named(body["metadata"])})
        old = self._objects.lister(ResourceClaim).get(rest[0], namespace)
        match method:
            case "DELETE":
                self._objects.remove(old)
                return {}
            case "PUT":
                return self._store(body)
            case "PATCH":
                (entry,) = body["status"]["reservedFor"]
                return self._store(_without(old.raw, {entry["uid"]}))
        raise NotImplementedError(f"{method} of a claim is not played")

    def _named(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        return {**metadata, "name": f"{metadata['generateName']}{number}", "uid": f"uid-{number}"}

    def _store(self, claim: Mapping[str, Any]) -> dict[str, Any]:
        version = str(next(self._numbers))
        stored = {**_IDENTITY, **claim, "metadata": {**claim["metadata"], "resourceVersion": version}}
        self._objects.set(ResourceClaim.from_dict(stored))
        return stored

    # --- the claim controller ---------------------------------------------------------------------

    def make_for(self, pod: Pod, statuses: Iterable[Mapping[str, Any]]) -> None:
        """Make the claims of the pod from their templates, with the recorded names."""
        names = {status["name"]: status.get("resourceClaimName") for status in statuses}
        for each in pod.spec.resource_claims:
            name = names.get(each.name)
            template = self._objects.lister(ResourceClaimTemplate).get(
                each.resource_claim_template_name or "", pod.namespace
            )
            if name and template is not None:
                self._store(_from_template(template, pod, name))

    def release(self, uids: Iterable[str]) -> None:
        """These pods are gone: so are the claims made for them, and nobody uses the others for them."""
        gone = set(uids)
        for claim in list(self.all()):
            if _owners(claim) & gone:
                self._objects.remove(claim)
            elif any(consumer.uid in gone for consumer in claim.status.reserved_for):
                self._store(_without(claim.raw, gone))

    def replace(self, recorded: Iterable[dict[str, Any]]) -> None:
        """The claims as they were recorded."""
        after = [ResourceClaim.from_dict(each) for each in recorded]
        there = {each.key for each in after}
        for claim in list(self.all()):
            if claim.key not in there:
                self._objects.remove(claim)
        for each in after:
            # The recorded versions are older than those that we have given out.
            self._store(each.raw)


def _from_template(template: ResourceClaimTemplate, pod: Pod, name: str) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
    metadata = {"name": name, "namespace": pod.namespace, "uid": f"uid-{name}", "ownerReferences": [owner]}
    return {"metadata": metadata, "spec": template.raw["spec"]["spec"], "status": {}}


def _owners(claim: ResourceClaim) -> set[str]:
    return {owner.uid for owner in claim.metadata.owner_references}


def _without(claim: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    """The claim without these consumers; one that is left without any is deallocated."""
    status = dict(claim.get("status") or {})
    left = [each for each in status.get("reservedFor") or () if each["uid"] not in gone]
    if left:
        status["reservedFor"] = left
    else:
        status = {}
    return {**claim, "status": status}


def compared(claims: Iterable[ResourceClaim]) -> Iterator[tuple[str, Any]]:
    """What has to be the same: name → allocation and consumers, without what is left to chance."""
    for claim in claims:
        name = claim.name
        spec = None
        if claim.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true":
            name, spec = claim.metadata.generate_name, claim.to_dict()["spec"]
        yield name, {"spec": spec, "allocation": _allocation(claim), "reservedFor": _consumers(claim)}


def _consumers(claim: ResourceClaim) -> list[str]:
    return sorted(f"{each.resource}/{each.name}/{each.uid}" for each in claim.status.reserved_for)


def _allocation(claim: ResourceClaim) -> dict[str, Any] | None:
    allocation: dict[str, Any] | None = claim.to_dict().get("status", {}).get("allocation")
    if allocation is None:
        return None
    devices = dict(allocation.get("devices") or {})
    devices["results"] = [
        {key: "chance" if key == "shareID" else value for key, value in result.items()}
        for result in devices.get("results") or ()
    ]
    return {**allocation, "devices": devices, "allocationTimestamp": None}
