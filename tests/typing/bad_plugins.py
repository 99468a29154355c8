"""Plugins with mistakes. Above each line that mypy has to refuse are the words that it must say."""

from __future__ import annotations

from typing import Any

from bayplan import Action, Args, ClusterEvent, CycleState, NodeInfo, NodeTable, Plugin, Pod, Resource, Status


class LabelArgs(Args):
    key: str = "cpu"


class WrongSignatures(Plugin[LabelArgs]):
    name = "WrongSignatures"

    # refused: Signature of "filter" incompatible
    def filter(self, pod: Pod, node: NodeInfo) -> None: ...

    # refused: Argument 3 of "pre_score" is incompatible
    def pre_score(self, state: CycleState, pod: Pod, nodes: list[str]) -> None: ...

    # refused: Argument 3 of "reserve" is incompatible
    def reserve(self, state: CycleState, pod: Pod, node: NodeInfo) -> None: ...

    # refused: Signature of "waits_for" incompatible
    def waits_for(self, state: CycleState, pod: Pod) -> list[Pod]:
        return [pod]


class WrongResults(Plugin[LabelArgs]):
    name = "WrongResults"

    # refused: Return type "bool" of "filter" incompatible
    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> bool:
        return True

    # refused: Return type "float" of "score" incompatible
    def score(self, state: CycleState, pod: Pod, node: NodeInfo) -> float:
        return 0.5

    # refused: Return type "set[str]" of "pre_filter" incompatible
    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> set[str]:
        return set()

    # refused: Return type "None" of "filter_nodes" incompatible
    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None: ...

    # refused: Return type "None" of "sort_key" incompatible
    def sort_key(self, pod_info: Any) -> None: ...

    # refused: Return type "Status" of "unreserve" incompatible
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        return Status.success()


class WrongColour(Plugin):
    name = "WrongColour"

    # refused: Return type "Coroutine[Any, Any, None]" of "permit" incompatible
    async def permit(self, state: CycleState, pod: Pod, node_name: str) -> None: ...

    # refused: Return type "None" of "bind" incompatible
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> None: ...


class WrongFields(Plugin[LabelArgs]):
    # refused: expression has type "int"
    name = 7
    # refused: expression has type "tuple[str]"
    events_to_register = ("Node",)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        # refused: "LabelArgs" has no attribute "kye"
        if self.args.kye in node.labels:
            return None
        with self.handle.evaluation.what_if():
            # refused: Argument 1 to "filter_node"
            return self.handle.evaluation.filter_node(pod, state, node.name)


class WrongEvents(Plugin):
    name = "WrongEvents"

    # refused: incompatible
    def events_to_register(self) -> ClusterEvent:
        return ClusterEvent(Resource.NODE, Action.ADD)


# refused: Type argument "dict[str, str]" of "Plugin"
class WrongArgs(Plugin[dict[str, str]]):
    name = "WrongArgs"
