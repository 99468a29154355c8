"""ReleaseFacts: behaviour and texts that differ between releases without a feature gate.

A fact is named after what is true, not after the release in which it became true. Its default is the value of the
newest release, so that the module of an older one lists only what was different.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """Each field says what is true when it is; plugins read it as `self.handle.release.facts.<name>`."""

    #: Whether profiles have the extension point podGroupPostFilter.
    has_pod_group_post_filter: bool = True
    #: The metrics count scheduling entities, which are pods or pod groups, beside pods; the duration of goroutines
    #: of preemption is hidden, and those of plugins and of the scheduling algorithm are beta.
    counts_entities: bool = True
    #: The metrics say up to which resourceVersion the objects of each watched resource are known.
    exposes_informers: bool = True
    #: kube-apiserver reports a wrong default amount of a device at the default and a duplicate condition at its
    #: entry, and validates both attributes of a constraint.
    locates_device_errors: bool = True
    #: Events about pods without a node are called UnscheduledPodAdd and so on, and not UnschedulablePodAdd.
    calls_waiting_pods_unscheduled: bool = True
    #: DefaultPreemption says on which node it found a placement, and how many victims that has.
    reports_preemption: bool = True
    #: A victim that violates one PodDisruptionBudget takes nothing from the other budgets that protect it.
    counts_first_violated_budget_only: bool = True
    #: Of equally important pods that have not started yet, the one that came to its node first is kept longest.
    keeps_first_unstarted_pod: bool = True
    #: DynamicResources says so where PostFilter finds no claim to deallocate.
    reports_no_deallocation: bool = False
    #: The deletion of an allocated claim tries pods again that DynamicResources rejected.
    requeues_after_claim_deletion: bool = True
    #: The metric of claims that the scheduler creates has the owner among its labels, and another name.
    names_owner_of_created_claims: bool = True
    #: In the allocation of a claim a configuration is there once, and names no requests if it is for all of them.
    condenses_device_configuration: bool = True
    #: A claim for too many devices is refused at the request that is too much.
    names_request_with_too_many_devices: bool = True
    #: The error of a selector names the device, and says how a missing attribute is asked for.
    explains_selector_errors: bool = True
    #: distinctAttribute compares a device with all that were taken, not only with the last of each request.
    compares_all_distinct_attributes: bool = True
    #: A request for all devices includes those whose capacity is consumed, and so cannot be satisfied.
    all_devices_include_consumed: bool = True
    #: A capacity that is rounded up is written in the format of the step, not in powers of two.
    rounds_capacity_in_format_of_step: bool = True
    #: A capacity that is negative, or too large to be counted in steps, ends the search.
    refuses_uncountable_capacity: bool = True
    #: A device that is shared without consuming capacity is in use, and its counters are consumed once.
    counts_shares_without_capacity: bool = True
    #: A node sees the counters of a pool only if it sees the pool.
    counters_belong_to_nodes: bool = True
    #: ImageLocality expects as many bytes of an image volume as of a container's image.
    counts_image_volumes: bool = True
    #: A namespaceSelector in a term of the pod matches the namespaces that it selects, and no others: it is not
    #: evaluated on empty labels as well.
    resolves_namespace_selectors: bool = True
    #: To try a pod again, one of its anti-affinity terms must match the other pod; not all of them.
    requeues_by_any_anti_affinity_term: bool = True
    #: Plugins that register for new nodes are told of changed taints too.
    adds_taint_updates_to_new_nodes: bool = False

    def event_label(self, label: str) -> str:
        """The name of an event in metrics and logs."""
        if not self.calls_waiting_pods_unscheduled:
            return label
        return label.replace("UnschedulablePod", "UnscheduledPod")
