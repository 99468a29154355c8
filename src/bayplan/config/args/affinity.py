"""InterPodAffinityArgs and NodeAffinityArgs, with the part of the Pod API in the latter."""

from __future__ import annotations

from bayplan.config.api_object import ApiObject, Int32
from bayplan.config.args.base import Args
from bayplan.config.args.node_selector import (
    AddedNodeSelector,
    AddedNodeSelectorTerm,
    selector_errors,
    term_errors,
)
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError


class InterPodAffinityArgs(Args):
    """Weights of inter-pod affinity."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False

    def validate(self, path: Path) -> list[FieldError]:
        weight = self.hard_pod_affinity_weight
        if 0 <= weight <= 100:
            return []
        return [FieldError(path / "hardPodAffinityWeight", f"{weight} is not between 0 and 100")]


class AddedSchedulingTerm(ApiObject):
    weight: Int32 = 0
    preference: AddedNodeSelectorTerm = AddedNodeSelectorTerm()


class AddedNodeAffinity(ApiObject):
    """The NodeAffinity of the Pod API."""

    OMIT_EMPTY = frozenset(
        {
            "required_during_scheduling_ignored_during_execution",
            "preferred_during_scheduling_ignored_during_execution",
        }
    )

    required_during_scheduling_ignored_during_execution: AddedNodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[AddedSchedulingTerm, ...] = ()


class NodeAffinityArgs(Args):
    """Affinity that is added to that of every pod of the profile."""

    OMIT_EMPTY = frozenset({"added_affinity"})

    added_affinity: AddedNodeAffinity | None = None

    def validate(self, path: Path) -> list[FieldError]:
        if self.added_affinity is None:
            return []
        errors = []
        required = self.added_affinity.required_during_scheduling_ignored_during_execution
        if required is not None:
            where = path / "addedAffinity" / "requiredDuringSchedulingIgnoredDuringExecution"
            errors += selector_errors(required, where)
        preferred = path / "addedAffinity" / "preferredDuringSchedulingIgnoredDuringExecution"
        for i, term in enumerate(self.added_affinity.preferred_during_scheduling_ignored_during_execution):
            if term.weight != 0:  # a term without weight is never evaluated
                # kube-scheduler leaves "preference" out of these paths.
                errors += term_errors(term.preference, preferred / i / "preference", upstream=preferred / i)
        return errors
