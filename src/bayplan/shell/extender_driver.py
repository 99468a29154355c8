"""Calling extenders for the core: carries out `AskExtenders`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayplan.framework import CycleState

if TYPE_CHECKING:
    from bayplan.core import Decision
    from bayplan.core.messages import AskExtenders, ExtenderCall
    from bayplan.core.schedule_one import ProfileScheduler
    from bayplan.model import Pod


async def call_extenders(question: AskExtenders) -> Sequence[Any]:
    """The results of the calls, made at the same time; an exception stands for a call that failed."""
    return await asyncio.gather(*map(_call, question.calls))


async def _call(call: ExtenderCall) -> Any:
    try:
        return await getattr(call.extender, call.verb)(call.pod, call.argument)
    except Exception as error:
        return error


async def decide_with_extenders(scheduler: ProfileScheduler, pod: Pod) -> Decision:
    """The decision alone, without a queue; nothing may change in the core meanwhile."""
    deciding = scheduler.schedule_pod(pod, CycleState())
    results: Any = None
    while True:
        try:
            question = deciding.send(results)
        except StopIteration as end:
            decision: Decision = end.value
            return decision
        results = await call_extenders(question)
