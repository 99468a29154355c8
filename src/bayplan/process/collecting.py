"""The garbage collector, kept out of the way of pods.

We hold on to hundreds of thousands of objects of the cluster, and hardly any of that is ever garbage that
reference counts do not see. Yet a full collection looks at all of it, for a tenth of a second, and Python runs one
whenever a quarter as much has come: in the middle of a burst. So the cluster as it was read at the start is never
looked at, and what has come since at times of our choosing.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.framework import Clock

#: Few pods in a hundred thousand come in the moment that it takes.
COLLECT_SECONDS: Final = 300.0
#: While the cluster is read, all that is made stays.
_WHILE_READING: Final = (100_000, 50, 1_000)
#: A young collection looks at 2,000 objects, a middle one at 20,000 (4 ms); full ones do not come by themselves.
_WHILE_SCHEDULING: Final = (2_000, 10, 1_000_000)


class Collector:
    """Sets up the collector of this process, and runs it now and then."""

    def before_reading(self) -> None:
        gc.set_threshold(*_WHILE_READING)

    def after_reading(self) -> None:
        gc.freeze()
        gc.set_threshold(*_WHILE_SCHEDULING)

    async def run(self, clock: Clock) -> None:
        """Until cancelled."""
        while True:
            await clock.sleep(COLLECT_SECONDS)
            gc.collect()
