"""Plugins as an author with type hints writes them: mypy has nothing to say about any of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import assert_type

from bayplan import (
    Action,
    Args,
    ClusterEvent,
    CycleState,
    Diagnosis,
    Handle,
    Hint,
    IntArray,
    Node,
    NodeInfo,
    NodeTable,
    Plugin,
    Pod,
    PostFilterResult,
    PreFilterResult,
    QueuedPod,
    Reads,
    Resource,
    ScoreArray,
    Status,
    Verdict,
)


class LabelArgs(Args):
    key: str = "cpu"


class Typed(Plugin[LabelArgs]):
    """Its args have their type, without a word more."""

    name = "Typed"
    reads = Reads.NODE
    events_to_register = (ClusterEvent(Resource.NODE, Action.ADD),)

    def __init__(self, args: LabelArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        assert_type(self.args, LabelArgs)
        assert_type(self.args.key, str)

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> PreFilterResult | None:
        state.write(self.name, frozenset(pod.labels))
        return None

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        labels = state.read(self.name, frozenset)
        return nodes.reject(~nodes.label(self.args.key).isin(labels), "node(s) had another label")

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        return nodes.allocatable("memory")

    def normalize_score(self, state: CycleState, pod: Pod, scores: ScoreArray, nodes: NodeTable) -> None:
        scores //= 2

    def sign(self, pod: Pod) -> Hashable:
        return frozenset(pod.labels.items())


class Untyped(Plugin):
    """No arguments, other names of parameters, and no hints at all in one method."""

    name = "Untyped"

    def filter(self, _: CycleState, candidate: Pod, node: NodeInfo) -> Status | None:
        return None if node.labels else Status.unresolvable(f"{candidate.name} wants labels")

    def score(self, state, pod, node):  # type: ignore[no-untyped-def]
        return self.args


class Hinted(Plugin[None]):
    """Events as a method, with a hint; a queue, a what-if and the binding cycle."""

    name = "Hinted"

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return [ClusterEvent(Resource.NODE, Action.ADD, self._after_node)]

    def _after_node(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        return Hint.QUEUE if new is not None else Hint.SKIP

    def sort_key(self, pod_info: QueuedPod) -> tuple[int, float]:
        return -pod_info.pod.priority, pod_info.timestamp

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult | Status:
        evaluation = self.handle.evaluation
        with evaluation.what_if():
            status = evaluation.filter_node(state.clone(), pod, "a")
            assert_type(status, Status)
        return PostFilterResult("a", status) if status.is_success else status

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.wait(timeout_seconds=1)

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        await self.handle.client.bind(pod, node_name)
