"""Finds plugins whose memory grows with every pod, by tracing the allocations of their file."""

from __future__ import annotations

import gc
import inspect
import itertools
import tracemalloc
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bayplan.framework import Plugin
from bayplan.testing.builders import make_pod

if TYPE_CHECKING:
    from bayplan.testing.harness import Harness

#: Caches fill up in the first rounds; memory that still grows in the last ones grows forever.
_ROUNDS: Final = 4
_DECISIONS: Final = 100
#: Less per pod, such as a counter or a short name, is not reported.
_WORTH_BYTES: Final = 200


def find_leak(plugin: type[Plugin], harness: Harness) -> Iterator[str]:
    """The leak, if there is one, worded for the author of the plugin."""
    try:
        file = inspect.getfile(plugin)
    except (OSError, TypeError):
        return
    sizes = _sizes(file, harness)
    growth = [(after - before) / _DECISIONS for before, after in itertools.pairwise(sizes[1:])]
    least = min(growth)
    if least > _WORTH_BYTES:
        yield (
            f"its memory grows by about {least:,.0f} bytes with every pod; "
            "keep the data of one attempt in the CycleState, and drop the rest when a pod is deleted"
        )


def _sizes(file: str, harness: Harness) -> list[int]:
    """Bytes that *file* has allocated and not freed, before the first round and after each."""
    was_tracing = tracemalloc.is_tracing()
    if not was_tracing:
        tracemalloc.start()
    try:
        sizes = [_allocated(file)]
        for number in range(_ROUNDS):
            for pod in range(_DECISIONS):
                harness.decide(make_pod(f"pod-{number}-{pod}", cpu="1m", labels={"n": str(pod)}))
            sizes.append(_allocated(file))
        return sizes
    finally:
        if not was_tracing:
            tracemalloc.stop()


def _allocated(file: str) -> int:
    gc.collect()
    taken = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, file)])
    return sum(statistic.size for statistic in taken.statistics("filename"))
