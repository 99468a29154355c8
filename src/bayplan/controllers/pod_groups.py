"""PodGroups: writes the phase and counts of a group to its status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from bayplan.client import NotFoundError
from bayplan.controllers.api_objects import Object, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView
from bayplan.model import PodGroup

LABEL: Final = "scheduling.x-k8s.io/pod-group"
#: Phases in which a group is not reconciled again.
FINAL_PHASES: Final = ("Finished", "Failed")


def next_status(group: Object, pods: Sequence[PodView]) -> Object:
    """The next status:

    "" ──▶ Pending ──▶ Scheduling ◀──▶ Running ──▶ Finished
              ▲            │              │
              └────────────┴──────────────┴──────▶ Failed
    """
    status = group.get("status") or {}
    min_member = group.get("spec", {}).get("minMember", 0)
    phase = status.get("phase", "")
    if phase in FINAL_PHASES:
        return dict(status)
    if phase == "":
        return {**status, "phase": "Pending"}
    if phase == "Pending":
        if len(pods) < min_member:
            return dict(status)
        return {**status, "phase": "Scheduling", **_occupied_by(pods)}
    counts = Counter(pod.status.phase for pod in pods)
    counted = {key: counts[key.capitalize()] for key in ("running", "succeeded", "failed")}
    return {**status, **counted, "phase": _phase(min_member, len(pods), **counted)}


def _phase(min_member: int, n_pods: int, *, running: int, succeeded: int, failed: int) -> str:
    if n_pods < min_member:
        return "Pending"
    if succeeded >= min_member:
        return "Finished"
    if failed and failed + running + succeeded >= min_member:
        return "Failed"
    return "Running" if succeeded + running >= min_member else "Scheduling"


def _occupied_by(pods: Sequence[PodView]) -> Object:
    """The owners of the first pod."""
    owners = sorted(f"{pods[0].namespace}/{owner.name}" for owner in pods[0].metadata.owner_references)
    return {"occupiedBy": ",".join(owners)} if owners else {}


class PodGroupController(Controller):
    """See the module docstring."""

    name = "PodGroupController"

    def watch(self) -> None:
        self._groups = self.objects(PodGroup.API_VERSION, PodGroup.PLURAL)
        self._members: dict[str, dict[str, PodView]] = {}
        self.pods(self._pod_changed)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if old is not None and (key := _group_key(old)):
            self._members.get(key, {}).pop(old.name, None)
            self.queue.add(key)
        if new is not None and (key := _group_key(new)):
            self._members.setdefault(key, {})[new.name] = new
            self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        group = self._groups.get(name, namespace)
        if group is None:
            if not self._members.get(key):
                self._members.pop(key, None)
            return None
        members = self._members.get(key, {})
        status = next_status(group, [members[each] for each in sorted(members)])
        if status != (group.get("status") or {}):
            await self._write(namespace, name, status)
        return None

    async def _write(self, namespace: str, name: str, status: Object) -> None:
        path = path_of(PodGroup.API_VERSION, PodGroup.PLURAL, namespace, name, "status")
        try:
            await self.client.request("PATCH", path, {"status": status})
        except NotFoundError:
            return


def _group_key(pod: PodView) -> str:
    name = pod.metadata.labels.get(LABEL)
    return f"{pod.namespace}/{name}" if name else ""
