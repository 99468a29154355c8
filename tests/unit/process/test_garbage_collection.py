"""The garbage collector: set for the whole life of a process, and run while pods are scheduled."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest
from tests.unit.client.doubles import LoopClock

from bayplan.process.garbage_collection import COLLECT_SECONDS, GcTuner


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_what_was_read_at_the_start_is_not_looked_at_again() -> None:
    collector = GcTuner()
    collector.before_reading()
    kept = [[] for _ in range(10)]  # type: ignore[var-annotated]
    collector.after_reading()
    watched = {id(each) for each in gc.get_objects()}
    assert not watched & {id(each) for each in kept}
    assert gc.isenabled()


@pytest.mark.asyncio
@pytest.mark.looptime
async def test_what_has_come_since_is_collected_now_and_then() -> None:
    """Rings of references too, which nothing else would free."""

    class Ring:
        def __init__(self) -> None:
            self.itself = self

    collector = GcTuner()
    collector.after_reading()
    gc.disable()
    Ring()
    running = asyncio.create_task(collector.run(LoopClock()))
    await asyncio.sleep(COLLECT_SECONDS + 1)
    running.cancel()
    gc.enable()
    assert not any(type(each) is Ring for each in gc.get_objects())
