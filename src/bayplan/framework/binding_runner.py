"""The runner of the binding cycle: PreBind, Bind and PostBind of one profile, as coroutines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Final

from bayplan.framework.calls import PluginMethod, ProfilePlugins, as_status, wrapped
from bayplan.framework.plugin import PreBindPreFlight
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, SUCCESS, Status

if TYPE_CHECKING:
    from bayplan.model import Pod

#: Runs awaitables concurrently and returns the first status that is no success; the cycle provides it.
Together = Callable[[Sequence[Awaitable[Status]]], Awaitable[Status]]


class BindPlan:
    """The PreBind plugins that have work to do: groups in order, the members of a group at the same time."""

    __slots__ = ("groups", "is_empty")

    def __init__(self, groups: Sequence[Sequence[PluginMethod]]) -> None:
        self.groups: Final = groups
        self.is_empty: Final = not groups


#: The plan of most pods.
NOTHING_TO_PREPARE: Final = BindPlan(())


class BindingRunner:
    """Runs the extension points of the binding cycle for one profile."""

    def __init__(self, plugins: ProfilePlugins) -> None:
        self._plugins = plugins
        self._caller = plugins.caller
        pre_flights = plugins.companions("preBind", "pre_bind_pre_flight")
        #: PreBind plugins, each with its pre-flight if it has one.
        self._pre_bind = [(method, pre_flights.get(method.name)) for method in plugins.on("preBind")]
        self._bind = plugins.on("bind")
        self._post_bind = plugins.on("postBind")
        self.has_post_bind: Final = bool(self._post_bind)

    def plan(self, state: CycleState, pod: Pod, node_name: str) -> BindPlan | Status:
        """Call every pre_bind_pre_flight; a Status if one failed."""
        start = perf_counter()
        groups: list[list[PluginMethod]] = []
        open_group: list[PluginMethod] | None = None
        for method, pre_flight in self._pre_bind:
            result = None if pre_flight is None else self._caller.call(pre_flight, state, pod, node_name)
            allow_parallel = isinstance(result, PreBindPreFlight) and result.allow_parallel
            if not allow_parallel:
                open_group = None
            if pre_flight is not None and not isinstance(result, PreBindPreFlight):
                status = as_status(pre_flight, result)
                if status.is_skip:
                    continue
                if not status.is_success:
                    failed = wrapped(f'running PreBindPreFlight "{method.name}"', status, method.name)
                    return self._plugins.point_done("PreBindPreFlight", failed, start)
            if open_group is not None:
                open_group.append(method)
            else:
                groups.append([method])
                open_group = groups[-1] if allow_parallel else None
        self._plugins.point_done("PreBindPreFlight", SUCCESS if groups else SKIP, start)
        return BindPlan(groups) if groups else NOTHING_TO_PREPARE

    async def pre_bind(
        self, plan: BindPlan, state: CycleState, pod: Pod, node_name: str, together: Together
    ) -> Status:
        start = perf_counter()
        status = SUCCESS
        for group in plan.groups:
            running = [self._pre_bind_one(method, state, pod, node_name) for method in group]
            status = await (running[0] if len(running) == 1 else together(running))
            if not status.is_success:
                break
        return self._plugins.point_done("PreBind", status, start)

    def skip_pre_bind(self) -> None:
        """Report PreBind for an empty plan: the extension point is counted although nothing runs."""
        self._plugins.point_done("PreBind", SUCCESS, perf_counter())

    async def _pre_bind_one(self, method: PluginMethod, state: CycleState, pod: Pod, node_name: str) -> Status:
        status = as_status(method, await self._caller.call_async(method, state, pod, node_name))
        if status.is_success or status.is_rejection:
            return status.by(method.name)
        return wrapped(f'running PreBind plugin "{method.name}"', status, method.name)

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """The first plugin that does not SKIP binds."""
        start = perf_counter()
        status = SKIP
        for method in self._bind:
            status = as_status(method, await self._caller.call_async(method, state, pod, node_name))
            if status.is_skip:
                continue
            if status.is_success or status.is_rejection:
                status = status.by(method.name)
            else:
                status = wrapped(f'running Bind plugin "{method.name}"', status, method.name)
            break
        return self._plugins.point_done("Bind", SKIP if status.is_skip else status, start)

    async def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        start = perf_counter()
        for method in self._post_bind:
            await self._caller.call_async(method, state, pod, node_name)
        self._plugins.point_done("PostBind", SUCCESS, start)

    def skip_post_bind(self) -> None:
        """Report PostBind for a profile without such plugins."""
        self._plugins.point_done("PostBind", SUCCESS, perf_counter())
