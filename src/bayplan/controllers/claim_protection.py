"""Protection of PersistentVolumeClaims: one that is deleted stays until no pod uses it."""

from __future__ import annotations

from typing import Final

from bayplan.client import NotFoundError
from bayplan.controllers.api_objects import is_being_deleted, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView

FINALIZER: Final = "kubernetes.io/pvc-protection"


class ClaimProtectionController(Controller):
    """See the module docstring. The finalizer itself is set by the API server's admission."""

    name = "persistentvolumeclaim-protection-controller"

    def watch(self) -> None:
        self._claims = self.objects("v1", "persistentvolumeclaims")
        #: Key of a claim → uids of the pods that use it.
        self._users: dict[str, set[str]] = {}
        self.pods(self._pod_changed)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        if old is not None:
            self._count(old, is_there=False)
        if new is not None:
            self._count(new, is_there=not new.is_done)

    def _count(self, pod: PodView, *, is_there: bool) -> None:
        for name in pod.volume_claims:
            key = f"{pod.namespace}/{name}"
            users = self._users.setdefault(key, set())
            users.add(pod.uid) if is_there else users.discard(pod.uid)
            if not users:
                del self._users[key]
                self.queue.add(key)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        claim = self._claims.get(name, namespace)
        if claim is None or not is_being_deleted(claim) or self._users.get(key):
            return None
        meta = claim["metadata"]
        kept = [each for each in meta.get("finalizers") or [] if each != FINALIZER]
        if len(kept) == len(meta.get("finalizers") or []):
            return None
        patch = {"metadata": {"finalizers": kept or None, "resourceVersion": meta["resourceVersion"]}}
        try:
            await self.client.request("PATCH", path_of("v1", "persistentvolumeclaims", namespace, name), patch)
        except NotFoundError:
            return None
        return None
