"""The cache: which pods are on which nodes, assumed ones included.

State of a pod in the cache::

                    assume                  add (the watch saw it bound)
        Initial ──────────────▶ Assumed ─────────────────────────────────▶ Added ──┐ update
           ▲  │                    │                                        │ ▲     │
           │  │ add                │ forget, expire                         │ └─────┘
           │  └────────────────────┼───────────────────────────────────────▶│
           └───────────────────────┴────────────────────────────────────────┘ remove
                                                                          Deleted

A pod is assumed when the scheduling cycle has chosen a node; it counts there from then on, so that the next
pod can be decided before the bind has gone through. A bind that fails is forgotten; one that succeeds is
confirmed by the watch. Pods may name a node that is not there (yet, or no longer): they count as soon as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from bayplan.cache.snapshot import CacheSnapshot
from bayplan.cache.store import Store

if TYPE_CHECKING:
    from bayplan.model import Node, Pod


class CacheError(Exception):
    """A step that the pod's state does not allow: a bug in the caller."""


class _PodState:
    __slots__ = ("assumed", "deadline", "node_name", "pod")

    def __init__(self, pod: Pod, node_name: str, *, assumed: bool) -> None:
        self.pod = pod
        self.node_name = node_name
        self.assumed = assumed
        #: When an assumed pod whose bind was sent is given up; infinity: never.
        self.deadline = math.inf


class Cache:
    """See the module's text."""

    def __init__(self) -> None:
        self._store = Store()
        self._states: dict[str, _PodState] = {}
        #: Pods whose node is not there: node name → uids, in the order in which they were on it.
        self._strays: dict[str, dict[str, None]] = {}
        self._snapshot = CacheSnapshot(self._store)

    def snapshot(self) -> CacheSnapshot:
        """The cluster as it is now. It moves with the cache: a cycle uses it before the next change comes in."""
        return self._snapshot

    @property
    def n_nodes(self) -> int:
        return self._store.n_nodes

    @property
    def n_pods(self) -> int:
        return len(self._states)

    @property
    def n_assumed(self) -> int:
        return sum(state.assumed for state in self._states.values())

    # --- nodes ------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        """A node is new or changed. Raises ObjectError, and changes nothing, if its amounts cannot be read."""
        _ = node.allocatable
        row = self._store.set_node(node)
        for uid in self._strays.pop(node.name, ()):
            self._store.add_pod(row, self._states[uid].pod)

    def remove_node(self, name: str) -> None:
        """A node is gone; its pods stay known until they are removed themselves."""
        if name not in self._store.row_of:
            return
        pods = self._store.drop_node(name)
        if pods:
            self._strays[name] = {pod.uid: None for pod in pods}

    def node(self, name: str) -> Node | None:
        row = self._store.row_of.get(name)
        return None if row is None else self._store.nodes[row]

    # --- pods, from the watch ---------------------------------------------------------------------

    def add_pod(self, pod: Pod) -> None:
        """The watch shows *pod* on its node: a pod bound by anyone, or the confirmation of an assumed one.

        Raises ObjectError, and changes nothing, if its requests cannot be read.
        """
        state = self._states.get(pod.uid)
        row = self._store.row_of.get(pod.spec.node_name)
        if state is not None and row is not None and _are_counted_alike(state.pod, pod):
            self._replace(row, state.pod, pod)
            return
        _ = pod.requests, pod.nonzero_requests
        if state is not None:
            self._detach(state)
        self._attach(_PodState(pod, pod.spec.node_name, assumed=False))

    def update_pod(self, pod: Pod) -> None:
        """A pod on a node changed."""
        self.add_pod(pod)

    def remove_pod(self, uid: str) -> None:
        """A pod is gone, or has ended."""
        state = self._states.get(uid)
        if state is not None:
            self._detach(state)

    def pod(self, uid: str) -> Pod | None:
        state = self._states.get(uid)
        return None if state is None else state.pod

    # --- pods, from the cycles --------------------------------------------------------------------

    def assume(self, pod: Pod, node_name: str) -> Pod:
        """Count *pod* on *node_name* before the API server knows; the pod as it is then."""
        if pod.uid in self._states:
            raise CacheError(f"pod {pod.key} ({pod.uid}) is in the cache, so it cannot be assumed")
        assumed = on_node(pod, node_name)
        self._attach(_PodState(assumed, node_name, assumed=True))
        return assumed

    def is_assumed(self, uid: str) -> bool:
        state = self._states.get(uid)
        return state is not None and state.assumed

    def finish_binding(self, uid: str, deadline: float = math.inf) -> None:
        """The bind was sent; from *deadline* on the pod may be given up if no watch event confirms it."""
        state = self._states.get(uid)
        if state is not None and state.assumed:
            state.deadline = deadline

    def forget(self, uid: str) -> None:
        """The pod was not bound after all. One that the watch has confirmed meanwhile stays."""
        state = self._states.get(uid)
        if state is None:
            return
        if not state.assumed:
            raise CacheError(f"pod {state.pod.key} ({uid}) was not assumed, so it cannot be forgotten")
        self._detach(state)

    def expire(self, now: float) -> Iterable[Pod]:
        """Forget the assumed pods whose deadline has passed; returns them."""
        late = [state for state in self._states.values() if state.assumed and state.deadline <= now]
        for state in late:
            self._detach(state)
        return [state.pod for state in late]

    # ----------------------------------------------------------------------------------------------

    def _attach(self, state: _PodState) -> None:
        uid = state.pod.uid
        self._states[uid] = state
        row = self._store.row_of.get(state.node_name)
        if row is None:
            self._strays.setdefault(state.node_name, {})[uid] = None
        else:
            self._store.add_pod(row, state.pod)

    def _replace(self, row: int, old: Pod, new: Pod) -> None:
        """The same pod in another form that counts for just as much."""
        new.share_derived(old)
        self._store.replace_pod(row, new)
        del self._states[new.uid]
        self._states[new.uid] = _PodState(new, new.spec.node_name, assumed=False)

    def _detach(self, state: _PodState) -> None:
        uid = state.pod.uid
        del self._states[uid]
        row = self._store.row_of.get(state.node_name)
        if row is not None:
            self._store.remove_pod(row, state.pod)
            return
        strays = self._strays[state.node_name]
        strays.pop(uid, None)
        if not strays:
            del self._strays[state.node_name]


def _are_counted_alike(old: Pod, new: Pod) -> bool:
    """Whether all that columns tell of a pod, its class aside, follows from the same facts in both forms.

    So it is when the watch confirms an assumed pod (which got its node's topology labels with the bind), and when
    a status says nothing new of resources: that is most of what there is to hear about pods.
    """
    return (
        old.spec == new.spec
        and old.metadata.namespace == new.metadata.namespace
        and old.status.qos_class == new.status.qos_class
        and not old.status.node_allocatable_resource_claim_statuses
        and not new.status.node_allocatable_resource_claim_statuses
        and _request_alike(old, new)
    )


def _request_alike(old: Pod, new: Pod) -> bool:
    """Whether two pods of equal specs request the same; statuses bear on that once they tell of resources."""
    if not (old.status.tells_resources or new.status.tells_resources):
        return True
    return old.request_summary is new.request_summary


def on_node(pod: Pod, node_name: str) -> Pod:
    """The pod with its node's name; what was worked out about it stays known."""
    placed = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
    placed.__dict__.update(pod.__dict__)
    return placed
