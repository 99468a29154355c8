"""SamplingProfiler: where the threads of this process spend their time.

In: how long to look. Out: a `StackProfile`, in speedscope's format or as collapsed stacks. A thread of
its own reads the stacks of all others a hundred times a second. While nobody asks, there is no such thread and no
cost.

Samples are weighted with the time since the one before: while C code holds the interpreter's lock no sample can be
taken, and the next one counts for all of that time. Functions of compiled modules have no frames of their own:
their time is that of the Python function that called them.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, Final

#: As often as Go's profiler.
SAMPLES_PER_SECOND: Final = 100
#: Deeper stacks lose their outermost frames.
MAX_DEPTH: Final = 256
_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"

#: From the outermost function to the innermost.
Stack = tuple[CodeType, ...]


class ThreadSamples:
    """The stacks of one thread, in order, each with the seconds that it counts for."""

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self.stacks: list[Stack] = []
        self.seconds: list[float] = []

    def add(self, stack: Stack, seconds: float) -> None:
        if self.stacks and self.stacks[-1] == stack:
            self.seconds[-1] += seconds
        else:
            self.stacks.append(stack)
            self.seconds.append(seconds)


class StackProfile:
    """What was seen of each thread, by its identifier."""

    def __init__(self, threads: Mapping[int, ThreadSamples]) -> None:
        self.threads: Final = sorted(threads.values(), key=lambda each: (each.name != "MainThread", each.name))

    def speedscope(self, name: str) -> dict[str, Any]:
        """For https://www.speedscope.app, as an object to be encoded as JSON: one profile per thread."""
        frames: dict[CodeType, int] = {}
        profiles = [
            {
                "type": "sampled",
                "name": thread.name,
                "unit": "seconds",
                "startValue": 0,
                "endValue": sum(thread.seconds),
                "samples": [[frames.setdefault(code, len(frames)) for code in stack] for stack in thread.stacks],
                "weights": thread.seconds,
            }
            for thread in self.threads
        ]
        shared = [
            {"name": code.co_qualname, "file": code.co_filename, "line": code.co_firstlineno} for code in frames
        ]
        return {"$schema": _SCHEMA, "name": name, "shared": {"frames": shared}, "profiles": profiles}

    def collapsed(self) -> str:
        """A line per stack, `thread;outer;inner 12`, with the number of samples that its time makes."""
        counts: Counter[str] = Counter()
        for thread in self.threads:
            for stack, seconds in zip(thread.stacks, thread.seconds, strict=True):
                counts[";".join((thread.name, *map(_label, stack)))] += round(seconds * SAMPLES_PER_SECOND)
        return "".join(f"{stack} {count}\n" for stack, count in sorted(counts.items()) if count)


def _label(code: CodeType) -> str:
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})".replace(";", ":")


class SamplingProfiler:
    """Looks at the stacks of all threads but the one that it is called in."""

    def __init__(self, monotonic: Callable[[], float] = perf_counter) -> None:
        self._monotonic = monotonic

    def profile(self, seconds: float, stop: threading.Event) -> StackProfile:
        """Takes *seconds*; less if *stop* is set before."""
        threads: dict[int, ThreadSamples] = {}
        start = last = self._monotonic()
        while last - start < seconds and not stop.wait(1 / SAMPLES_PER_SECOND):
            now = self._monotonic()
            self._sample(threads, now - last)
            last = now
        return StackProfile(threads)

    @staticmethod
    def _sample(threads: dict[int, ThreadSamples], seconds: float) -> None:
        own = threading.get_ident()
        for identifier, frame in sys._current_frames().items():
            if identifier != own:
                if identifier not in threads:
                    threads[identifier] = ThreadSamples(_names().get(identifier, f"thread {identifier}"))
                threads[identifier].add(_stack(frame), seconds)


def _names() -> dict[int, str]:
    return {thread.ident: thread.name for thread in threading.enumerate() if thread.ident is not None}


def _stack(frame: FrameType) -> Stack:
    return tuple(each.f_code for each in _frames(frame))[::-1]


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    """From the innermost outwards."""
    for _ in range(MAX_DEPTH):
        if frame is None:
            return
        yield frame
        frame = frame.f_back
