"""The runner of the binding cycle: PreBind, Bind and PostBind of one profile, as coroutines."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bayplan.framework.calls import Bound, as_status, wrapped
from bayplan.framework.plugin import PreBindPreFlight
from bayplan.framework.profile import ProfilePlugins
from bayplan.framework.state import CycleState
from bayplan.framework.status import SUCCESS, Status

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


class _Flight(NamedTuple):
    """What a plugin's pre-flight said."""

    status: Status
    allow_parallel: bool


class BindingRunner:
    """Runs the extension points of the binding cycle for one profile."""

    def __init__(self, plugins: ProfilePlugins) -> None:
        self._plugins = plugins
        self._caller = plugins.caller
        self._pre_flight = plugins.companions("preBind", "pre_bind_pre_flight")

    def plan(self, state: CycleState, pod: Pod, node_name: str) -> BindPlan | Status:
        """Asks every pre_bind_pre_flight; a Status when one failed."""
        with self._plugins.timed("PreBindPreFlight") as done:
            groups: list[list[Bound]] = []
            open_group: list[Bound] | None = None
            for bound in self._plugins.on("preBind"):
                flight = self._fly(bound, state, pod, node_name)
                if not (flight.status.is_skip or flight.status.is_success):
                    return done(wrapped(f'running PreBindPreFlight "{bound.name}"', flight.status, bound.name))
                if not flight.allow_parallel:
                    open_group = None
                if flight.status.is_skip:
                    continue
                if open_group is not None:
                    open_group.append(bound)
                else:
                    groups.append([bound])
                    open_group = groups[-1] if flight.allow_parallel else None
            done(SUCCESS if groups else Status.skip())
            return BindPlan(groups)

    def _fly(self, bound: Bound, state: CycleState, pod: Pod, node_name: str) -> _Flight:
        flight = self._pre_flight.get(bound.name)
        if flight is None:
            return _Flight(SUCCESS, allow_parallel=False)
        answer = self._caller.call(flight, state, pod, node_name)
        if isinstance(answer, PreBindPreFlight):
            return _Flight(SUCCESS, answer.allow_parallel)
        return _Flight(as_status(flight, answer), allow_parallel=False)

    async def pre_bind(
        self, plan: BindPlan, state: CycleState, pod: Pod, node_name: str, together: Together
    ) -> Status:
        with self._plugins.timed("PreBind") as done:
            for group in plan.groups:
                running = [self._pre_bind_one(bound, state, pod, node_name) for bound in group]
                status = await (running[0] if len(running) == 1 else together(running))
                if not status.is_success:
                    return done(status)
            return done(SUCCESS)

    async def _pre_bind_one(self, bound: Bound, state: CycleState, pod: Pod, node_name: str) -> Status:
        status = as_status(bound, await self._caller.call_async(bound, state, pod, node_name))
        if status.is_success or status.is_rejection:
            return status.by(bound.name)
        return wrapped(f'running PreBind plugin "{bound.name}"', status, bound.name)

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """The first plugin that does not SKIP binds."""
        with self._plugins.timed("Bind") as done:
            for bound in self._plugins.on("bind"):
                status = as_status(bound, await self._caller.call_async(bound, state, pod, node_name))
                if status.is_skip:
                    continue
                if status.is_success or status.is_rejection:
                    return done(status.by(bound.name))
                return done(wrapped(f'running Bind plugin "{bound.name}"', status, bound.name))
            return done(Status.skip())

    async def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        with self._plugins.timed("PostBind") as done:
            for bound in self._plugins.on("postBind"):
                await self._caller.call_async(bound, state, pod, node_name)
            done(SUCCESS)
