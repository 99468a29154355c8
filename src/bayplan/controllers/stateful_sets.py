"""StatefulSets: numbered pods, created in order and deleted from the end, each with its own claims."""

from __future__ import annotations

from typing import Final

from bayplan.client import ConflictError
from bayplan.controllers.api_objects import Object, is_being_deleted, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.controller_revisions import REVISION_LABEL, RevisionHistory
from bayplan.controllers.core_events import reference
from bayplan.controllers.pod_control import PodControl
from bayplan.controllers.pod_view import PodView
from bayplan.controllers.template_hash import template_hash

APPS: Final = "apps/v1"
POD_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"


class StatefulSetController(Controller):
    """See the module docstring."""

    name = "statefulset-controller"

    def watch(self) -> None:
        self._sets = self.objects(APPS, "statefulsets")
        self._control = PodControl(self, APPS, "StatefulSet", self._sets)
        self._history = RevisionHistory(self, "StatefulSet")

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        owner = self._sets.get(name, namespace)
        if owner is None:
            self._control.expectations.forget(key)
            return None
        pods = {pod.name: pod for pod in await self._control.claim(owner)}
        if not is_being_deleted(owner):
            await self._history.keep(owner, {pod.metadata.labels.get(REVISION_LABEL, "") for pod in pods.values()})
        if self._control.expectations.is_satisfied(key) and not is_being_deleted(owner):
            await self._step(owner, pods)
        await self._update_status(owner, list(pods.values()))
        return None

    async def _step(self, owner: Object, pods: dict[str, PodView]) -> None:
        """One step in order; with podManagementPolicy Parallel, all steps at once."""
        names = _names(owner)
        in_order = owner["spec"].get("podManagementPolicy") != "Parallel"
        for number, name in enumerate(names):
            pod = pods.get(name)
            if pod is None:
                await self._make(owner, name, number)
            elif pod.has_ended and not pod.is_deleted:
                await self._control.delete(owner, [pod])
            if in_order and (pod is None or pod.is_deleted or not pod.is_ready):
                return
        surplus = sorted((pod for pod in pods.values() if pod.name not in names), key=_number, reverse=True)
        for pod in surplus:
            if not pod.is_deleted:
                await self._control.delete(owner, [pod])
            if in_order:
                return
        if not surplus:
            await self._update(owner, [pods[name] for name in names if name in pods])

    async def _update(self, owner: Object, pods: list[PodView]) -> None:
        """Rolling update: from the last ordinal down to the partition, one pod at a time."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
        revision = _revision(owner)
        for pod in reversed(pods[partition:]):
            if not pod.is_active or not pod.is_ready:
                return
            if pod.metadata.labels.get(REVISION_LABEL) != revision:
                await self._control.delete(owner, [pod])
                return

    async def _make(self, owner: Object, name: str, number: int) -> None:
        claims = owner["spec"].get("volumeClaimTemplates") or []
        for claim in claims:
            await self._make_claim(owner, claim, name)
        template = owner["spec"]["template"]
        meta = template.get("metadata") or {}
        labels = {
            **(meta.get("labels") or {}),
            POD_NAME_LABEL: name,
            INDEX_LABEL: str(number),
            REVISION_LABEL: _revision(owner),
        }
        spec = {**template["spec"], "hostname": name}
        if owner["spec"].get("serviceName"):
            spec["subdomain"] = owner["spec"]["serviceName"]
        if claims:
            own = {claim["metadata"]["name"] for claim in claims}
            others = [volume for volume in spec.get("volumes") or [] if volume["name"] not in own]
            spec["volumes"] = [*others, *(_volume(claim, name) for claim in claims)]
        await self._control.make(owner, {"metadata": {**meta, "labels": labels}, "spec": spec}, name=name)

    async def _make_claim(self, owner: Object, claim: Object, pod: str) -> None:
        namespace = owner["metadata"]["namespace"]
        name = f"{claim['metadata']['name']}-{pod}"
        labels = {
            **(claim["metadata"].get("labels") or {}),
            **(owner["spec"]["selector"].get("matchLabels") or {}),
        }
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": claim["spec"],
        }
        try:
            await self.client.request("POST", path_of("v1", "persistentvolumeclaims", namespace), body)
        except ConflictError:
            return  # Claims outlive the pods on purpose.
        message = f"create Claim {name} Pod {pod} in StatefulSet {owner['metadata']['name']} success"
        await self.events.emit(reference(owner, APPS, "StatefulSet"), "SuccessfulCreate", message)

    async def _update_status(self, owner: Object, pods: list[PodView]) -> None:
        revision = _revision(owner)
        full = f"{owner['metadata']['name']}-{revision}"
        active = [pod for pod in pods if pod.is_active]
        ready = sum(pod.is_ready for pod in active)
        updated = sum(pod.metadata.labels.get(REVISION_LABEL) == revision for pod in active)
        known = owner.get("status") or {}
        complete = updated == len(active)
        status = {
            "observedGeneration": owner["metadata"].get("generation", 0),
            "replicas": len(active),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "currentReplicas": updated if complete else len(active) - updated,
            "updatedReplicas": updated,
            "currentRevision": full if complete else known.get("currentRevision", full),
            "updateRevision": full,
        }
        if any(known.get(field, 0) != value for field, value in status.items()):
            meta = owner["metadata"]
            path = path_of(APPS, "statefulsets", meta["namespace"], meta["name"], "status")
            await self.client.request("PATCH", path, {"status": status})


def _names(owner: Object) -> list[str]:
    start = (owner["spec"].get("ordinals") or {}).get("start", 0)
    replicas = owner["spec"].get("replicas", 1)
    return [f"{owner['metadata']['name']}-{number}" for number in range(start, start + replicas)]


def _number(pod: PodView) -> int:
    text = pod.name.rpartition("-")[2]
    return int(text) if text.isdigit() else -1


def _revision(owner: Object) -> str:
    return template_hash(owner["spec"]["template"])


def _volume(claim: Object, pod: str) -> Object:
    name = claim["metadata"]["name"]
    return {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}}
