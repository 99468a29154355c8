"""Does a plugin keep something of every pod? What its file allocates is watched over many decisions."""

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

#: Caches fill up in the first rounds; what still grows in the last ones grows for ever.
_ROUNDS: Final = 4
_DECISIONS: Final = 100
#: A counter or a short name per pod is not worth a word.
_WORTH_BYTES: Final = 200


def find_leak(plugin: type[Plugin], harness: Harness) -> Iterator[str]:
    """What is wrong, in words for the author; nothing if nothing is."""
    try:
        file = inspect.getfile(plugin)
    except (OSError, TypeError):
        return
    sizes = _sizes(file, harness)
    growth = [(after - before) / _DECISIONS for before, after in itertools.pairwise(sizes[1:])]
    least = min(growth)
    if least > _WORTH_BYTES:
        yield (
            f"keeps about {least:,.0f} bytes more with every pod that it is asked about, so it grows for ever; "
            "keep what belongs to one attempt in the CycleState, and give back the rest when a pod is gone"
        )


def _sizes(file: str, harness: Harness) -> list[int]:
    """Bytes that *file* has allocated and that are still there, before the first round and after each."""
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
