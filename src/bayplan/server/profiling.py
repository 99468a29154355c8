"""/debug/pprof: kube-scheduler's paths, with a sampled profile of Python in place of Go's.

The profile is a file for https://www.speedscope.app, or collapsed stacks for flame graph tools. `go tool pprof`
cannot read it. One profile is taken at a time, and for a minute at most.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from bayplan.observe.sampling_profiler import SamplingProfiler, StackProfile
from bayplan.server.http_endpoints import (
    EndpointRequest,
    Inspection,
    Visitor,
    encoded_response,
    text_response,
)

if TYPE_CHECKING:
    from aiohttp import web

ROOT: Final = "/debug/pprof"
#: As in Go.
DEFAULT_SECONDS: Final = 30.0
MAX_SECONDS: Final = 60.0
_FORMATS: Final = ("speedscope", "collapsed")
_INDEX: Final = f"""\
{ROOT}/

  profile    where all threads spend their time: ?seconds=30 (up to {MAX_SECONDS:.0f})
             &format=speedscope (JSON for https://www.speedscope.app), or collapsed (a line per stack)
  goroutine  the stacks of all threads now
  cmdline    the command line, arguments separated by NUL
"""


class Profiling:
    """The handlers, by path."""

    def __init__(self, profiler: SamplingProfiler | None = None) -> None:
        self._profiler = profiler or SamplingProfiler()
        self._is_busy = False

    def handlers(self) -> Mapping[str, Inspection]:
        return {
            ROOT: self._index,
            f"{ROOT}/": self._index,
            f"{ROOT}/profile": self._profile,
            f"{ROOT}/goroutine": self._stacks,
            f"{ROOT}/cmdline": self._command_line,
        }

    async def _index(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        return text_response(_INDEX)

    async def _command_line(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        return text_response("\0".join(sys.orig_argv))

    async def _stacks(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        stacks = [
            f"{names.get(identifier, identifier)}:\n{''.join(traceback.format_stack(frame))}"
            for identifier, frame in sys._current_frames().items()
        ]
        return text_response("\n".join(stacks))

    async def _profile(self, request: EndpointRequest, visitor: Visitor) -> web.Response:
        seconds = _seconds(request)
        wanted = _last(request, "format", _FORMATS[0])
        if seconds is None:
            return text_response(f"seconds must be a number above 0, and {MAX_SECONDS:.0f} at most\n", status=400)
        if wanted not in _FORMATS:
            return text_response(f"format must be {' or '.join(_FORMATS)}, not {wanted!r:.40}\n", status=400)
        if self._is_busy:
            return text_response("another profile is being taken; try again when it is done\n", status=500)
        self._is_busy = True
        try:
            taken = await self._take(seconds)
        finally:
            self._is_busy = False
        if wanted == "collapsed":
            return text_response(taken.collapsed())
        return encoded_response(json.dumps(taken.speedscope(f"bayplan, {seconds:g} s")).encode())

    async def _take(self, seconds: float) -> StackProfile:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._profiler.profile, seconds, stop)
        finally:
            stop.set()  # also if the server stops meanwhile


def _last(request: EndpointRequest, name: str, default: str) -> str:
    return request.query.get(name, (default,))[-1]


def _seconds(request: EndpointRequest) -> float | None:
    try:
        seconds = float(_last(request, "seconds", str(DEFAULT_SECONDS)))
    except ValueError:
        return None
    return seconds if 0 < seconds <= MAX_SECONDS else None
