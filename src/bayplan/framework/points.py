"""The extension points as data: their names, their methods, and which methods belong together.

The contract check, the registry, the runners, the expansion of the configuration and the documentation test all
read this table.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class MethodSpec(NamedTuple):
    """A method that a plugin may define."""

    name: str
    #: Parameters after self; after the first `required` ones a plugin may leave out the rest.
    parameters: tuple[str, ...]
    required: int
    #: Whether it is `async def`; None if it may be either.
    is_async: bool | None = False


class Point(NamedTuple):
    """An extension point of KubeSchedulerConfiguration."""

    #: As written in a configuration: `preFilter`.
    name: str
    #: As in kube-scheduler's messages and metrics: `PreFilter`.
    title: str
    #: A plugin is on the point if it defines one of these methods; two entries are two forms of the same method.
    entries: tuple[MethodSpec, ...]
    #: Optional methods that make sense only together with an entry.
    companions: tuple[MethodSpec, ...] = ()


def _method(name: str, *parameters: str, optional: int = 0, is_async: bool | None = False) -> MethodSpec:
    return MethodSpec(name, parameters, len(parameters) - optional, is_async)


POINTS: Final[tuple[Point, ...]] = (
    Point("preEnqueue", "PreEnqueue", (_method("pre_enqueue", "pod"),)),
    Point(
        "queueSort",
        "QueueSort",
        (_method("less", "first", "second"), _method("sort_key", "pod_info")),
    ),
    Point(
        "preFilter",
        "PreFilter",
        (_method("pre_filter", "state", "pod", "nodes", optional=1),),
        (
            _method("add_pod", "state", "pod", "pod_to_add", "node"),
            _method("remove_pod", "state", "pod", "pod_to_remove", "node"),
        ),
    ),
    Point(
        "filter",
        "Filter",
        (_method("filter", "state", "pod", "node"), _method("filter_nodes", "state", "pod", "nodes")),
    ),
    Point("postFilter", "PostFilter", (_method("post_filter", "state", "pod", "verdicts"),)),
    Point("preScore", "PreScore", (_method("pre_score", "state", "pod", "nodes"),)),
    Point(
        "score",
        "Score",
        (_method("score", "state", "pod", "node"), _method("score_nodes", "state", "pod", "nodes")),
        (_method("normalize_score", "state", "pod", "scores", "nodes", optional=1),),
    ),
    Point(
        "reserve",
        "Reserve",
        (_method("reserve", "state", "pod", "node_name"),),
        (_method("unreserve", "state", "pod", "node_name"),),
    ),
    Point(
        "permit",
        "Permit",
        (_method("permit", "state", "pod", "node_name"),),
        (_method("waits_with", "pod", "other"), _method("waits_for", "pod")),
    ),
    Point(
        "preBind",
        "PreBind",
        (_method("pre_bind", "state", "pod", "node_name", is_async=True),),
        (_method("pre_bind_pre_flight", "state", "pod", "node_name"),),
    ),
    Point("bind", "Bind", (_method("bind", "state", "pod", "node_name", is_async=True),)),
    Point("postBind", "PostBind", (_method("post_bind", "state", "pod", "node_name", is_async=True),)),
)

POINT_BY_NAME: Final = {point.name: point for point in POINTS}

#: Methods that belong to no extension point.
EXTRA_METHODS: Final[tuple[MethodSpec, ...]] = (
    _method("sign", "pod"),
    _method("events_to_register"),
    _method("carry_over", "old"),
    _method("close", is_async=None),
)

METHODS: Final[dict[str, MethodSpec]] = {
    method.name: method
    for method in (
        *(method for point in POINTS for method in (*point.entries, *point.companions)),
        *EXTRA_METHODS,
    )
}
