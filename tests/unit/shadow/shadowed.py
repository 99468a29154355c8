"""A judge that follows a cluster of a test."""

from __future__ import annotations

import msgspec
from tests.unit.explain.applied import LOADED, REGISTRY

from bayplan.config import Loaded
from bayplan.explain.what_if_scheduler import ObjectChange
from bayplan.model import KubeObject, Pod
from bayplan.shadow.decision_order import DecisionOrder
from bayplan.shadow.shadow_judge import ShadowJudge
from bayplan.shadow.shadow_record import ShadowRecord
from bayplan.testing import VirtualClock

TIME = "2026-01-01T00:00:00.000+00:00"


def judge_of(*objects: KubeObject, loaded: Loaded = LOADED, batches: bool = False) -> ShadowJudge:
    judge = ShadowJudge("test", loaded, REGISTRY, VirtualClock(), batches=batches)
    for each in objects:
        judge.follow(ObjectChange(None, each))
    return judge


def on(pod: Pod, node_name: str) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))


def order_of(*coming: ObjectChange) -> DecisionOrder:
    """An order that holds back these changes, which were there before the first list."""
    order = DecisionOrder({"default-scheduler"})
    for each in coming:
        order.add(each, 0.0, is_new=False)
    return order


def place(judge: ShadowJudge, pod: Pod, node_name: str, order: DecisionOrder | None = None) -> ShadowRecord | None:
    """The record of a placement, which is made afterwards."""
    if pod.key not in judge.core.pods:
        judge.follow(ObjectChange(None, pod))
    placed = on(pod, node_name)
    record = judge.judge(placed, order or order_of(), TIME)
    judge.follow(ObjectChange(pod, placed))
    return record


def sampling(percentage: int) -> Loaded:
    """The default configuration, with a percentageOfNodesToScore."""
    config = msgspec.structs.replace(LOADED.config, percentage_of_nodes_to_score=percentage)
    return msgspec.structs.replace(LOADED, config=config)
