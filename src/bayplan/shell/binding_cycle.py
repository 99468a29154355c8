"""The binding cycle: a pod past Permit is prepared and bound; many at the same time.

In: `StartBinding`. Out: `PodBound` or `BindingFailed`, to the core.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from bayplan.core.messages import BindingFailed, Input, PodBound, StartBinding
from bayplan.framework import SUCCESS, Plugin, Status
from bayplan.framework.extenders import Extender, ExtenderError
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.model import Pod

log = klog.get_logger("bayplan.shell")
logger = logging.getLogger("bayplan.shell")


class BindingCycle:
    """Runs the binding cycles of all profiles."""

    def __init__(
        self,
        report: Callable[[Input], None],
        write_nomination: Callable[[Pod, str], Awaitable[object]],
        extenders: Sequence[Extender] = (),
    ) -> None:
        """*report* gives the results to the core; *write_nomination* writes the node that a pod is about to get to
        its status."""
        self._report = report
        self._write_nomination = write_nomination
        self._extenders = extenders

    async def run(self, start: StartBinding) -> None:
        assumed, plan, announced_node = start.assumed, start.plan, start.announced_node
        pod, node_name, state = assumed.pod, assumed.node_name, assumed.state
        runner = assumed.scheduler.profile.binding
        try:
            # 1. PreBind, if any plugin has work to do. It may take long, so the nomination is written before.
            if plan.is_empty:
                runner.skip_pre_bind()
                status = SUCCESS
            else:
                if not announced_node:
                    announced_node = node_name
                    await self._announce(pod, node_name)
                status = await runner.pre_bind(plan, state, pod, node_name, first_failure)
            # 2. Bind: an extender that binds comes before the Bind plugins.
            if status.is_success:
                by_extender = await bind_by_extender(self._extenders, pod, node_name) if self._extenders else None
                status = by_extender if by_extender is not None else await runner.bind(state, pod, node_name)
        except asyncio.CancelledError as error:
            status = _raised_by_plugin(error)
            log.error(error, "Binding cycle raised an exception", trace=error, pod=pod)
        except Exception as error:
            log.error(error, "Binding cycle raised an exception", trace=error, pod=pod)
            status = Status.failed(f"{type(error).__name__}: {error}")
        if not status.is_success:
            self._report(BindingFailed(assumed, status, announced_node))
            return
        self._report(PodBound(assumed))
        # 3. PostBind is informational.
        if not runner.has_post_bind:
            runner.skip_post_bind()
            return
        try:
            await runner.post_bind(state, pod, node_name)
        except asyncio.CancelledError as error:
            logger.error("%s: point=PostBind pod=%s", _raised_by_plugin(error).message, pod.key, exc_info=error)

    async def _announce(self, pod: Pod, node_name: str) -> None:
        try:
            await self._write_nomination(pod, node_name)
        except Exception as error:
            # Not worth stopping for: the pod will be bound all the same.
            message = "Failed to update the nominated node name in the binding cycle"
            log.error(error, message, pod=pod, nominatedNodeName=node_name)


def _raised_by_plugin(error: asyncio.CancelledError) -> Status:
    """The failure of a plugin that raised *error* by itself; raises it again if the task was cancelled."""
    task = asyncio.current_task()
    if task is None or task.cancelling():
        raise error
    plugins = [frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)]
    name = next((each.name for each in reversed(plugins) if isinstance(each, Plugin)), "")
    return Status.failed(f"plugin={name} raised CancelledError: {error}").by(name)


async def first_failure(running: Sequence[Awaitable[Status]]) -> Status:
    """Run them at the same time; the first status that is not a success cancels the others."""
    tasks = [asyncio.ensure_future(each) for each in running]
    try:
        for finished in asyncio.as_completed(tasks):
            status = await finished
            if not status.is_success:
                return status
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return SUCCESS


async def bind_by_extender(extenders: Iterable[Extender], pod: Pod, node_name: str) -> Status | None:
    """The first interested extender that binds does it; None if it is left to the plugins."""
    for extender in extenders:
        if not (extender.is_binder and extender.is_interested(pod)):
            continue
        try:
            await extender.bind(pod, node_name)
        except ExtenderError as error:
            if not extender.is_ignorable:
                return Status.failed(str(error))
            message = "Skipping extender in bind as it returned error and has ignorable flag set"
            log.info(message, extender=extender.name, err=str(error))
            continue
        return Status.success()
    return None
