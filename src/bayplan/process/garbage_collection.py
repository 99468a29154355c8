"""Keeps Python's garbage collector from delaying pods.

The scheduler holds hundreds of thousands of objects of the cluster, and reference counting frees almost all of its
garbage. Yet a full collection traverses all of them, which takes a tenth of a second, and Python runs one whenever
the number of objects has grown by a quarter: in the middle of a burst. So the objects read at startup are frozen,
and full collections run at fixed intervals.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.framework import Clock

#: A collection is so short that it delays few pods in a hundred thousand.
COLLECT_SECONDS: Final = 300.0
#: While the cluster is read, hardly any object becomes garbage.
_WHILE_READING: Final = (100_000, 50, 1_000)
#: A young collection traverses 2,000 objects, a middle one 20,000 (4 ms); full ones never start by themselves.
_WHILE_SCHEDULING: Final = (2_000, 10, 1_000_000)


class GcTuner:
    """Configures the garbage collector of this process, and runs it periodically."""

    def before_reading(self) -> None:
        gc.set_threshold(*_WHILE_READING)

    def after_reading(self) -> None:
        gc.freeze()
        gc.set_threshold(*_WHILE_SCHEDULING)

    async def run(self, clock: Clock) -> None:
        """Run a full collection at intervals, until cancelled."""
        while True:
            await clock.sleep(COLLECT_SECONDS)
            gc.collect()
