"""Resource claims: makes them from templates, reserves them for bound pods, releases them when pods are done.

A claim that nobody uses any more is deallocated, so that its devices are free for others; one that was made for a
pod is deleted with it.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from bayplan.client import ApiError, ConflictError, NotFoundError
from bayplan.controllers.api_objects import Object, controller_of, is_being_deleted, key_of, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.core_events import WARNING
from bayplan.controllers.pod_view import PodView, PodViewClaim

RESOURCE: Final = "resource.k8s.io/v1"
CLAIMS: Final = "resourceclaims"
FINALIZER: Final = "resource.kubernetes.io/delete-protection"
#: On a claim that was made from a template: the name of its entry in the pod.
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"
MAX_RESERVATIONS: Final = 256
_MANAGER: Final = "ResourceClaimController"
_APPLY: Final = "application/apply-patch+yaml"
#: What remains of a name's 63 letters beside the random suffix.
_MAX_BASE: Final = 57
_REMEMBERED: Final = 500
#: After how long a claim that could not be made is tried again; a new template is a reason at once.
RETRY_SECONDS: Final = 5.0


class ResourceClaimController(Controller):
    """See the module docstring. A key is `pod namespace/name` or `claim namespace/name`."""

    name = "resource_claim"

    def watch(self) -> None:
        #: uids of pods with claims that were deleted: known to be gone without a request.
        self._deleted: OrderedDict[str, None] = OrderedDict()
        #: Key of a claim → keys of the pods that use it; key of a template → the same.
        self._users: dict[str, set[str]] = {}
        self._of_template: dict[str, set[str]] = {}
        #: uid of a pod → claims that were made for it; also those that the informer does not have yet.
        self._made_for: dict[str, dict[str, Object]] = {}
        #: uid of a pod → the last failure that an event told.
        self._told: dict[str, str] = {}
        self._pods = self.pods(self._pod_changed)
        self._claims = self._informers.custom(RESOURCE, CLAIMS)
        self._claims.add(self._claim_changed)
        self._templates = self.objects(RESOURCE, "resourceclaimtemplates", self._template_keys)

    # --- what a change means ------------------------------------------------------------------------------

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        for pod, is_there in ((old, False), (new, True)):
            if pod is not None and (pod.spec.resource_claims or pod.claim_names):
                self._index(pod, is_there=is_there)
        pod = new if new is not None else old
        if pod is None or not (pod.spec.resource_claims or pod.claim_names):
            return
        if new is None:
            self._told.pop(pod.uid, None)
            self._remember_deleted(pod.uid)
        if new is None or pod.is_done:
            for name in pod.claim_names:
                self.queue.add(f"claim {pod.namespace}/{name}")
        if new is not None:
            self.queue.add(f"pod {pod.key}")

    def _index(self, pod: PodView, *, is_there: bool) -> None:
        templates = [each.resource_claim_template_name for each in pod.spec.resource_claims]
        for users, names in ((self._users, pod.claim_names), (self._of_template, filter(None, templates))):
            for name in names:
                _keep(users, f"{pod.namespace}/{name}", pod.key, is_there=is_there)

    def _remember_deleted(self, uid: str) -> None:
        self._deleted[uid] = None
        if len(self._deleted) > _REMEMBERED:
            self._deleted.popitem(last=False)

    def _claim_changed(self, old: Object | None, new: Object | None) -> None:
        claim = new if new is not None else old
        if claim is None:
            return
        key, owner = key_of(claim), controller_of(claim)
        if owner is not None and new is not None:
            self._made_for.setdefault(owner["uid"], {})[key] = new
        elif owner is not None:
            self._forget_made(owner["uid"], key)
        if new is not None:
            self.queue.add(f"claim {key}")
        for user in self._users.get(key, ()):
            self.queue.add(f"pod {user}")

    def _forget_made(self, uid: str, key: str) -> None:
        claims = self._made_for.get(uid, {})
        claims.pop(key, None)
        if not claims:
            self._made_for.pop(uid, None)

    def _template_keys(self, template: Object) -> list[str]:
        return [f"pod {user}" for user in self._of_template.get(key_of(template), ())]

    async def reconcile(self, key: str) -> float | None:
        kind, _, where = key.partition(" ")
        namespace, name = split_key(where)
        if kind == "claim":
            claim = self._claims.get(name, namespace)
            if claim is not None:
                await self._sync_claim(claim)
            return None
        pod = self._pods.get(name, namespace)
        if pod is None or not pod.is_active:
            return None
        return await self._sync_pod(pod)

    # --- pods ---------------------------------------------------------------------------------------------

    async def _sync_pod(self, pod: PodView) -> float | None:
        """Make its claims from templates; reserve claims for a pod that was bound without them."""
        made: dict[str, str] = {}
        for entry in pod.spec.resource_claims:
            try:
                name = await self._make_claim(pod, entry)
            except ClaimCreationError as error:
                await self._emit_failure(pod, f"PodResourceClaim {entry.name}: {error}")
                return RETRY_SECONDS
            if name is not None:
                made[entry.name] = name
        if made:
            await self._write_names(pod, made)
        elif pod.spec.node_name:
            await self._reserve(pod)
        return None

    async def _make_claim(self, pod: PodView, entry: PodViewClaim) -> str | None:
        """The name of the entry's claim if the pod does not have it yet."""
        template_name, known = entry.resource_claim_template_name, pod.claim_name(entry)
        if template_name is None or known == "":
            return None
        claim = self._claims.get(known, pod.namespace) if known is not None else None
        if claim is not None and _is_for(pod, claim):
            return None
        claim = self._claim_made_for(pod, entry)
        if claim is None:
            template = self._templates.get(template_name, pod.namespace)
            if template is None:
                why = f'resourceclaimtemplate.resource.k8s.io "{template_name}" not found'
                raise ClaimCreationError(f'resource claim template "{template_name}": {why}')
            claim = await self._create(pod, entry, template)
        name: str = claim["metadata"]["name"]
        return name

    def _claim_made_for(self, pod: PodView, entry: PodViewClaim) -> Object | None:
        """A claim that was made, but whose name did not reach the pod's status."""
        for claim in self._made_for.get(pod.uid, {}).values():
            annotations = claim["metadata"].get("annotations") or {}
            if annotations.get(POD_CLAIM_NAME) == entry.name:
                return claim
        return None

    async def _create(self, pod: PodView, entry: PodViewClaim, template: Object) -> Object:
        meta = template["spec"].get("metadata") or {}
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid, "controller": True}
        body: Object = {
            "apiVersion": RESOURCE,
            "kind": "ResourceClaim",
            "metadata": {
                "generateName": generated_name(pod.name, entry.name),
                "labels": meta.get("labels") or {},
                "annotations": {**(meta.get("annotations") or {}), POD_CLAIM_NAME: entry.name},
                "ownerReferences": [owner],
            },
            "spec": template["spec"]["spec"],
        }
        try:
            claim = await self.client.request("POST", path_of(RESOURCE, CLAIMS, pod.namespace), body)
        except ApiError as error:
            raise ClaimCreationError(f"create ResourceClaim : {error}") from error
        self._made_for.setdefault(pod.uid, {})[key_of(claim)] = claim
        return claim

    async def _emit_failure(self, pod: PodView, message: str) -> None:
        if self._told.get(pod.uid) == message:
            return
        self._told[pod.uid] = message
        about = {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
        await self.events.emit(about, "FailedResourceClaimCreation", message, type=WARNING)

    async def _write_names(self, pod: PodView, made: dict[str, str]) -> None:
        # An apply replaces what this manager applied before.
        known = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
        statuses = [{"name": entry, "resourceClaimName": name} for entry, name in (known | made).items()]
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "status": {"resourceClaimStatuses": statuses},
        }
        path = path_of("v1", "pods", pod.namespace, pod.name, "status")
        query = {"fieldManager": _MANAGER, "force": "true"}
        try:
            await self.client.request("PATCH", path, body, query=query, content_type=_APPLY)
        except NotFoundError:
            return

    async def _reserve(self, pod: PodView) -> None:
        for name in filter(None, map(pod.claim_name, pod.spec.resource_claims)):
            claim = self._claims.get(name, pod.namespace)
            if claim is None:
                return
            status = claim.get("status") or {}
            consumers = status.get("reservedFor") or []
            is_known = any(each["uid"] == pod.uid for each in consumers)
            if status.get("allocation") is None or is_known or len(consumers) >= MAX_RESERVATIONS:
                continue
            consumer = {"resource": "pods", "name": pod.name, "uid": pod.uid}
            await self._update_status(claim, {**status, "reservedFor": [*consumers, consumer]})

    # --- claims -------------------------------------------------------------------------------------------

    async def _sync_claim(self, claim: Object) -> None:
        """Release what pods no longer use; delete a claim that was made for a pod that is done."""
        consumers = (claim.get("status") or {}).get("reservedFor") or []
        remaining = [each for each in consumers if await self._still_uses(claim, each)]
        is_protected = FINALIZER in (claim["metadata"].get("finalizers") or ())
        if len(remaining) < len(consumers):
            status = {**claim["status"], "reservedFor": remaining}
            if not remaining and is_protected:
                status.pop("allocation", None)
            claim = await self._update_status(claim, status)
            if is_protected and not remaining:
                claim = await self._drop_finalizer(claim)
        elif is_protected and is_being_deleted(claim) and not remaining:
            status = dict(claim.get("status") or {})
            if status.pop("allocation", None) is not None:
                claim = await self._update_status(claim, status)
            claim = await self._drop_finalizer(claim)
        if not remaining:
            await self._delete_unused(claim)

    async def _still_uses(self, claim: Object, consumer: Object) -> bool:
        """Whether a consumer may still use the claim; consumers other than pods always do."""
        if consumer.get("apiGroup") or consumer["resource"] != "pods":
            return True
        if consumer["uid"] in self._deleted:
            return False
        namespace, name = claim["metadata"]["namespace"], consumer["name"]
        pod = self._pods.get(name, namespace)
        if pod is not None:
            return pod.uid == consumer["uid"] and not pod.is_done
        # The watch may lag, and taking devices from a pod that is being scheduled would be bad.
        try:
            found = await self.client.request("GET", path_of("v1", "pods", namespace, name))
        except NotFoundError:
            return False
        return bool(found["metadata"]["uid"] == consumer["uid"])

    async def _delete_unused(self, claim: Object) -> None:
        owner = controller_of(claim)
        if owner is None or (owner["apiVersion"], owner["kind"]) != ("v1", "Pod") or is_being_deleted(claim):
            return
        pod = self._pods.get(owner["name"], claim["metadata"]["namespace"])
        # A pod that is not known is the garbage collector's business.
        if pod is not None and (pod.uid != owner["uid"] or pod.is_done):
            body = {"preconditions": {"uid": claim["metadata"]["uid"]}}
            try:
                await self.client.request("DELETE", _path(claim), body)
            except (NotFoundError, ConflictError):
                return

    async def _update_status(self, claim: Object, status: Object) -> Object:
        """Replace the status; a conflict if anything has changed."""
        return await self.client.request("PUT", f"{_path(claim)}/status", {**claim, "status": status})

    async def _drop_finalizer(self, claim: Object) -> Object:
        meta = claim["metadata"]
        kept = [each for each in meta.get("finalizers") or () if each != FINALIZER]
        return await self.client.request("PUT", _path(claim), {**claim, "metadata": {**meta, "finalizers": kept}})


class ClaimCreationError(Exception):
    """A claim could not be made from its template."""


def _keep(users: dict[str, set[str]], name: str, pod_key: str, *, is_there: bool) -> None:
    keys = users.setdefault(name, set())
    if is_there:
        keys.add(pod_key)
    else:
        keys.discard(pod_key)
        if not keys:
            del users[name]


def generated_name(pod_name: str, claim_name: str) -> str:
    """The prefix of a claim's name: if it is too long, both parts are shortened in proportion."""
    whole = f"{pod_name}-{claim_name}-"
    if len(whole) <= _MAX_BASE:
        return whole
    pod_part, claim_part = (part[: len(part) * _MAX_BASE // len(whole)] for part in (pod_name, claim_name))
    return f"{pod_part}-{claim_part}"


def _path(claim: Object) -> str:
    meta = claim["metadata"]
    return path_of(RESOURCE, CLAIMS, meta["namespace"], meta["name"])


def _is_for(pod: PodView, claim: Object) -> bool:
    owner = controller_of(claim)
    return owner is not None and owner["uid"] == pod.uid
