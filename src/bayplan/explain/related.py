"""What else concerns a pod: its queue, its gang, the quotas of its namespace, its volumes, the extenders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from bayplan.explain.amounts import amount_text
from bayplan.explain.custom_remedies import group_of, members_of, used_in
from bayplan.explain.explanation import (
    CountedReason,
    DeviceReport,
    ExtenderReport,
    GangReport,
    PreemptionAnswer,
    QuotaReport,
    VictimPod,
    VolumeReport,
    WakingEvents,
)
from bayplan.framework import Action, ClusterEvent, PreemptionReport, registered_events
from bayplan.model import ElasticQuota, PersistentVolumeClaim, Pod, ResourceClaim, StorageClass

if TYPE_CHECKING:
    from bayplan.core import Profile, SchedulerCore
    from bayplan.observe.record import ExtenderAnswer

_PREEMPTION: Final = "preemption: "
_NOT_TRIED: Final = "not found"
_AVAILABLE: Final = "nodes are available: "


# --- what wakes it ----------------------------------------------------------------------------------------


def waking_events(profile: Profile, plugins: Iterable[str]) -> tuple[WakingEvents, ...]:
    """The events that the rejecting plugins have registered for."""
    found = []
    for name in sorted(plugins):
        plugin = profile.plugins.plugins.get(name)
        if plugin is not None:
            events = registered_events(plugin)
            texts = ("any change",) if events is None else tuple(dict.fromkeys(map(_event_text, events)))
            found.append(WakingEvents(plugin=name, events=texts))
    return tuple(found)


def _event_text(event: ClusterEvent) -> str:
    """`Node: Add, UpdateNodeTaint`."""
    if event.action == Action.ALL:
        return f"{event.resource}: any change"
    names = [_action_text(Action.UPDATE)] if event.action & Action.UPDATE == Action.UPDATE else []
    names = [
        _action_text(each)
        for each in Action
        if each & event.action and each.bit_count() == 1 and not (names and each & Action.UPDATE)
    ] + names
    return f"{event.resource}: {', '.join(names)}"


def _action_text(action: Action) -> str:
    return "".join(word.capitalize() for word in (action.name or "").split("_"))


# --- preemption -------------------------------------------------------------------------------------------


def preemption_of(detail: object, node_name: str, message: str) -> PreemptionAnswer | None:
    """*message* is that of PostFilter."""
    if not isinstance(detail, PreemptionReport):
        why = message.partition(_PREEMPTION)[2] or message
        why = why.partition(_AVAILABLE)[2] or why
        # PreFilter rejected the pod, so there is no node on which evicting pods could help.
        return PreemptionAnswer(possible=False, summary=why) if why not in ("", _NOT_TRIED) else None
    chosen = next((each for each in detail.candidates if each.node_name == node_name), None)
    if chosen is None:
        reasons = Counter(reason for status in detail.refused.values() for reason in status.reasons)
        refused = tuple(CountedReason(reason=reason, count=count) for reason, count in reasons.most_common())
        why = ", ".join(f"{each.count} {each.reason}" for each in refused) or "no node where evicting pods helps"
        return PreemptionAnswer(possible=False, summary=f"nobody can be evicted for it: {why}", refused=refused)
    victims = tuple(
        VictimPod(namespace=pod.namespace, name=pod.name, priority=pod.priority) for pod in chosen.victims.pods
    )
    return PreemptionAnswer(
        possible=True,
        summary=f"{len(victims)} pod{'s' if len(victims) > 1 else ''} would be evicted from {node_name}",
        node=node_name,
        victims=victims,
        n_violations=chosen.victims.n_violations,
    )


# --- objects around the pod -------------------------------------------------------------------------------


def gang_of(core: SchedulerCore, pod: Pod) -> GangReport | None:
    group = group_of(core, pod)
    if group is None:
        return None
    members = members_of(core, group)
    n_bound = sum(1 for member in members if member.node_name)
    return GangReport(
        name=group.key,
        summary=f"needs {group.spec.min_member} members; {len(members)} exist, {n_bound} are on nodes",
        min_member=group.spec.min_member,
        n_members=len(members),
        n_bound=n_bound,
    )


def quotas_of(core: SchedulerCore, pod: Pod) -> tuple[QuotaReport, ...]:
    quotas = [each for each in core.objects.lister(ElasticQuota).list() if each.namespace == pod.namespace]
    if not quotas:
        return ()
    used = used_in(core, pod.namespace)
    return tuple(
        QuotaReport(
            name=quota.key,
            summary="; ".join(
                _quota_text(resource, used.get(resource, 0), int(amount), int(pod.requests.get(resource, 0)))
                for resource, amount in sorted(quota.max.items())
            ),
        )
        for quota in quotas
    )


def _quota_text(resource: str, used: int, most: int, requested: int) -> str:
    amounts = [amount_text(resource, amount) for amount in (used, most, requested)]
    return f"{resource}: {amounts[0]} used, max {amounts[1]}, this pod {amounts[2]}"


def volumes_of(core: SchedulerCore, pod: Pod) -> tuple[VolumeReport, ...]:
    objects = core.objects
    names = [
        volume.persistent_volume_claim.claim_name
        for volume in pod.spec.volumes
        if volume.persistent_volume_claim is not None
    ]
    found = []
    for name in names:
        claim = objects.lister(PersistentVolumeClaim).get(name, pod.namespace)
        if claim is None:
            found.append(VolumeReport(claim=name, summary="no such claim was seen"))
            continue
        text = f"bound to {claim.spec.volume_name}" if claim.spec.volume_name else "not bound"
        class_name = claim.spec.storage_class_name
        if not claim.spec.volume_name and class_name:
            known = objects.lister(StorageClass).get(class_name)
            mode = "no such class" if known is None else known.volume_binding_mode or "Immediate"
            text += f"; class {class_name} ({mode})"
        found.append(VolumeReport(claim=name, summary=text))
    return tuple(found)


def devices_of(core: SchedulerCore, pod: Pod) -> tuple[DeviceReport, ...]:
    """The pod's resource claims; for each what it asks for, and what it got."""
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    found = []
    for each in pod.spec.resource_claims:
        name = each.resource_claim_name or made.get(each.name)
        if name is None:
            text = f"no claim was made of the template {each.resource_claim_template_name} yet"
            found.append(DeviceReport(claim=each.name, summary=text))
            continue
        claim = core.objects.lister(ResourceClaim).get(name, pod.namespace)
        found.append(
            DeviceReport(claim=name, summary="no such claim was seen" if claim is None else _claim(claim))
        )
    return tuple(found)


def _claim(claim: ResourceClaim) -> str:
    allocation = claim.status.allocation
    if allocation is not None:
        devices = [f"{each.device} of {each.driver}" for each in allocation.devices.results]
        return f"allocated: {', '.join(devices)}" if devices else "allocated"
    asked = []
    for request in claim.spec.devices.requests:
        for each in (request.exactly, *request.first_available):
            if each is not None:
                count = "all" if each.allocation_mode == "All" else str(each.count or 1)
                asked.append(f"{count} of class {each.device_class_name}")
    return f"not allocated; asks for {' or '.join(asked)}" if asked else "not allocated"


def extenders_of(answers: Sequence[ExtenderAnswer]) -> tuple[ExtenderReport, ...]:
    return tuple(
        ExtenderReport(extender=each.extender, verb=each.verb, summary=_extender_text(each)) for each in answers
    )


def _extender_text(answer: ExtenderAnswer) -> str:
    if answer.error:
        return f"failed: {answer.error}" + (" (ignored)" if answer.ignored else "")
    if answer.verb == "filter":
        reasons = Counter(answer.failed.values())
        rejected = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        return f"{answer.n_left} nodes left" + (f"; rejected: {rejected}" if rejected else "")
    if answer.verb == "prioritize":
        return f"scored {len(answer.scores)} nodes"
    return f"{answer.n_left} candidates left"
