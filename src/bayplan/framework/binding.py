"""The runner of the binding cycle: PreBind, Bind and PostBind of one profile, as coroutines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.framework.calls import Bound, as_status, wrapped
from bayplan.framework.plugin import PreBindPreFlight
from bayplan.framework.profile import ProfilePlugins
from bayplan.framework.state import CycleState
from bayplan.framework.status import SKIP, SUCCESS, Status

if TYPE_CHECKING:
    from bayplan.model import Pod

#: Runs awaitables at the same time and gives the first status that is no success; the cycle brings its own.
Together = Callable[[Sequence[Awaitable[Status]]], Awaitable[Status]]


class BindPlan(NamedTuple):
    """The PreBind plugins that have work to do: groups in order, the members of a group at the same time."""

    groups: Sequence[Sequence[Bound]]

    @property
    def is_empty(self) -> bool:
        return not self.groups


#: For most pods no plugin has.
NOTHING_TO_PREPARE: Final = BindPlan(())


class BindingRunner:
    """Runs the extension points of the binding cycle for one profile."""

    def __init__(self, plugins: ProfilePlugins) -> None:
        self._plugins = plugins
        self._caller = plugins.caller
        pre_flights = plugins.companions("preBind", "pre_bind_pre_flight")
        #: PreBind plugins, each with its pre-flight if it has one.
        self._pre_bind = [(bound, pre_flights.get(bound.name)) for bound in plugins.on("preBind")]
        self.has_post_bind: Final = bool(plugins.on("postBind"))

    def plan(self, state: CycleState, pod: Pod, node_name: str) -> BindPlan | Status:
        """Asks every pre_bind_pre_flight; a Status when one failed."""
        start = perf_counter()
        plan = self._plan(state, pod, node_name)
        status = plan if isinstance(plan, Status) else SKIP if plan.is_empty else SUCCESS
        self._plugins.point_done("PreBindPreFlight", status, start)
        return plan

    def _plan(self, state: CycleState, pod: Pod, node_name: str) -> BindPlan | Status:
        groups: list[list[Bound]] = []
        open_group: list[Bound] | None = None
        for bound, pre_flight in self._pre_bind:
            answer = None if pre_flight is None else self._caller.call(pre_flight, state, pod, node_name)
            allow_parallel = isinstance(answer, PreBindPreFlight) and answer.allow_parallel
            if not allow_parallel:
                open_group = None
            if pre_flight is not None and not isinstance(answer, PreBindPreFlight):
                status = as_status(pre_flight, answer)
                if status.is_skip:
                    continue
                if not status.is_success:
                    return wrapped(f'running PreBindPreFlight "{bound.name}"', status, bound.name)
            if open_group is not None:
                open_group.append(bound)
            else:
                groups.append([bound])
                open_group = groups[-1] if allow_parallel else None
        return BindPlan(groups) if groups else NOTHING_TO_PREPARE

    async def pre_bind(
        self, plan: BindPlan, state: CycleState, pod: Pod, node_name: str, together: Together
    ) -> Status:
        start = perf_counter()
        status = SUCCESS
        for group in plan.groups:
            running = [self._pre_bind_one(bound, state, pod, node_name) for bound in group]
            status = await (running[0] if len(running) == 1 else together(running))
            if not status.is_success:
                break
        return self._plugins.point_done("PreBind", status, start)

    def skip_pre_bind(self) -> None:
        """For a plan that is empty: nothing is to be awaited, and the point counts all the same."""
        self._plugins.point_done("PreBind", SUCCESS, perf_counter())

    async def _pre_bind_one(self, bound: Bound, state: CycleState, pod: Pod, node_name: str) -> Status:
        status = as_status(bound, await self._caller.call_async(bound, state, pod, node_name))
        if status.is_success or status.is_rejection:
            return status.by(bound.name)
        return wrapped(f'running PreBind plugin "{bound.name}"', status, bound.name)

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """The first plugin that does not SKIP binds."""
        start = perf_counter()
        status = SKIP
        for bound in self._plugins.on("bind"):
            status = as_status(bound, await self._caller.call_async(bound, state, pod, node_name))
            if status.is_skip:
                continue
            if status.is_success or status.is_rejection:
                status = status.by(bound.name)
            else:
                status = wrapped(f'running Bind plugin "{bound.name}"', status, bound.name)
            break
        return self._plugins.point_done("Bind", SKIP if status.is_skip else status, start)

    async def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        start = perf_counter()
        for bound in self._plugins.on("postBind"):
            await self._caller.call_async(bound, state, pod, node_name)
        self._plugins.point_done("PostBind", SUCCESS, start)

    def skip_post_bind(self) -> None:
        """For profiles that have no plugin there."""
        self._plugins.point_done("PostBind", SUCCESS, perf_counter())
