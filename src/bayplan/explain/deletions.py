"""Remedies that others pay for: the fewest pods that would have to be deleted so that a pod fits a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from bayplan.explain.remedy import OTHERS, Remedy, joined
from bayplan.framework import CycleState, NodeInfo, Preemption, Status
from bayplan.model import (
    AffinityTerm,
    Namespace,
    Pod,
    PodDisruptionBudget,
    SelectorError,
    compile_selector,
    importance_key,
)

if TYPE_CHECKING:
    from bayplan.explain.what_if_scheduler import WhatIfScheduler

DELETE: Final = 55.0
PER_POD: Final = 10.0
#: The priority of system-cluster-critical; pods from here on up are left alone.
CRITICAL_PRIORITY: Final = 2_000_000_000
#: Nobody deletes more pods than this for one.
MAX_DELETIONS: Final = 10
#: Of the uid of a pod that nobody has submitted yet.
NOT_SUBMITTED: Final = "new/"
#: How many pods are looked at before the caller may do something else.
_SCANNED: Final = 200
#: How many names a summary has.
_NAMED: Final = 3


def is_deletable(pod: Pod) -> bool:
    """Whether deleting the pod would free anything for long: static and DaemonSet pods come back at once."""
    owner = pod.controller
    return (
        not pod.is_terminating
        and not pod.uid.startswith(NOT_SUBMITTED)
        and pod.priority < CRITICAL_PRIORITY
        and "kubernetes.io/config.mirror" not in pod.annotations
        and (owner is None or owner.kind != "DaemonSet")
    )


class _AnyVictim(Preemption):
    """Preemption without regard to priorities."""

    def is_victim(self, node: NodeInfo, victim: Pod, preemptor: Pod) -> bool:
        return is_deletable(victim)


def fewest_on(scheduler: WhatIfScheduler, pod: Pod, node_name: str) -> tuple[Pod, ...]:
    """The fewest and least important pods of one node without which *pod* fits it; empty if that does not help."""
    profile, snapshot = scheduler.profile(pod), scheduler.core.cache.snapshot()
    state = CycleState()
    node = snapshot.node(node_name)
    scheduler.breathe()
    if node is None or not profile.runner.pre_filter(state, pod, snapshot.nodes).status.is_success:
        return ()
    search = _AnyVictim(profile.handle, min_candidate_nodes_percentage=100, min_candidate_nodes_absolute=1)
    budgets = scheduler.core.objects.lister(PodDisruptionBudget).list()
    with profile.evaluation.what_if():
        found = search.select_victims(state, pod, node, budgets)
    return () if isinstance(found, Status) or len(found.pods) > MAX_DELETIONS else found.pods


def deleting(pods: Sequence[Pod], preemptor: Pod) -> Remedy:
    names = [pod.key for pod in pods[:_NAMED]]
    if len(pods) > _NAMED:
        names.append(f"{len(pods) - _NAMED} more")
    more_important = any(pod.priority > preemptor.priority for pod in pods)
    owned = [pod for pod in pods if pod.controller is not None]
    notes = ("their controllers create them anew, and these compete for the place",) if owned else ()
    return Remedy(
        f"delete the pod{'s' if len(pods) > 1 else ''} {joined(names)}",
        DELETE + PER_POD * len(pods) + (15.0 if more_important else 0.0),
        OTHERS,
        deletes=tuple(pods),
        key=f"delete {sorted(pod.key for pod in pods)}",
        notes=notes,
    )


# --- pods of other nodes that stand in the way ------------------------------------------------------------


def repelling(scheduler: WhatIfScheduler, pod: Pod, node_name: str) -> list[Pod]:
    """The pods in the domains of a node that *pod* must not be near, or that do not want it near."""
    node = scheduler.node(node_name)
    if node is None:
        return []
    try:
        own = pod.affinity_terms.anti_required
    except SelectorError:
        return []
    found = []
    for other, its_labels in _placed_pods(scheduler):
        terms = [(term, other) for term in own] + [(term, pod) for term in _anti_terms(other)]
        if any(
            term.topology_key in node.labels
            and its_labels.get(term.topology_key) == node.labels[term.topology_key]
            and _matches(scheduler, term, matched)
            for term, matched in terms
        ):
            found.append(other)
    return found if all(is_deletable(each) for each in found) and len(found) <= MAX_DELETIONS else []


def _anti_terms(pod: Pod) -> Sequence[AffinityTerm]:
    if pod.spec.affinity is None:
        return ()
    try:
        return pod.affinity_terms.anti_required
    except SelectorError:
        return ()


def _matches(scheduler: WhatIfScheduler, term: AffinityTerm, pod: Pod) -> bool:
    namespace = scheduler.core.objects.lister(Namespace).get(pod.namespace)
    return term.matches(pod.namespace, pod.labels, namespace.labels if namespace is not None else None)


def repelling_labels(pods: Iterable[Pod]) -> list[str]:
    """The labels by which *pods* keep others away."""
    return sorted(
        {
            requirement.key
            for pod in pods
            for term in _anti_terms(pod)
            for requirement in term.selector.requirements or ()
        }
    )


def crowding(scheduler: WhatIfScheduler, pod: Pod, node_name: str) -> Iterator[list[Pod]]:
    """Per spread constraint, the pods that it counts in the domain of a node, the least important first."""
    node = scheduler.node(node_name)
    now = datetime.fromtimestamp(scheduler.core.clock.now(), UTC)
    for constraint in pod.spec.topology_spread_constraints if node is not None else ():
        domain = node.labels.get(constraint.topology_key) if node is not None else None
        if constraint.when_unsatisfiable != "DoNotSchedule" or domain is None:
            continue
        try:
            selector = compile_selector(constraint.label_selector)
        except SelectorError:
            continue
        counted = [
            other
            for other, its_labels in _placed_pods(scheduler)
            if other.namespace == pod.namespace
            and its_labels.get(constraint.topology_key) == domain
            and selector.matches(other.labels)
            and is_deletable(other)
        ]
        yield sorted(counted, key=lambda other: importance_key(other, now), reverse=True)


def claim_users(scheduler: WhatIfScheduler, pod: Pod) -> list[Pod]:
    """The pods that use a claim of *pod*."""
    claims = {
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    }
    return [
        other
        for other, _ in _placed_pods(scheduler)
        if other.namespace == pod.namespace
        and is_deletable(other)
        and any(
            volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name in claims
            for volume in other.spec.volumes
        )
    ]


def _placed_pods(scheduler: WhatIfScheduler) -> Iterator[tuple[Pod, dict[str, str]]]:
    """Every pod on a node, with the labels of the node."""
    labels: dict[str, dict[str, str]] = {}
    for number, other in enumerate(scheduler.core.cache.snapshot().pods()):
        if number % _SCANNED == 0:
            scheduler.breathe()
        name = other.node_name
        if name not in labels:
            node = scheduler.node(name)
            labels[name] = dict(node.labels) if node is not None else {}
        yield other, labels[name]
