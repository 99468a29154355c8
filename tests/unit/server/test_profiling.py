"""/debug/pprof: what is refused, and what each path answers."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any, cast

import pytest

from bayplan.observe.sampling_profiler import SamplingProfiler, StackProfile
from bayplan.server.http_endpoints import EndpointRequest, Visitor
from bayplan.server.profiling import Profiling

pytestmark = pytest.mark.asyncio

ANYBODY = cast("Visitor", None)


class OnDemand(SamplingProfiler):
    """Takes as long as the test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.asked_for: list[float] = []

    def profile(self, seconds: float, stop: threading.Event) -> StackProfile:
        self.asked_for.append(seconds)
        self.begun.set()
        self.may_end.wait()
        return StackProfile({})


async def get(profiling: Profiling, path: str, **query: str) -> Any:
    request = EndpointRequest({name: [value] for name, value in query.items()})
    return await profiling.handlers()[f"/debug/pprof{path}"](request, ANYBODY)


def immediate() -> OnDemand:
    profiler = OnDemand()
    profiler.may_end.set()
    return profiler


async def test_profile_in_both_formats() -> None:
    """Thirty seconds if nothing else is wanted, as in Go."""
    profiler = immediate()
    profiling = Profiling(profiler)

    assert json.loads((await get(profiling, "/profile")).body)["profiles"] == []
    assert (await get(profiling, "/profile", seconds="5", format="collapsed")).text == ""
    assert profiler.asked_for == [30.0, 5.0]


@pytest.mark.parametrize("seconds", ["0", "-1", "61", "nan", "inf", "long"])
async def test_time_that_is_refused(seconds: str) -> None:
    """A profile takes a minute at most."""
    response = await get(Profiling(immediate()), "/profile", seconds=seconds)

    assert response.status == 400
    assert response.text == "seconds must be a number above 0, and 60 at most\n"


async def test_format_that_is_unknown() -> None:
    """The answer names those that there are."""
    response = await get(Profiling(immediate()), "/profile", format="proto")

    assert (response.status, response.text) == (400, "format must be speedscope or collapsed, not 'proto'\n")


async def test_one_profile_at_a_time() -> None:
    """A second one is refused, and possible again after the first."""
    profiler = OnDemand()
    profiling = Profiling(profiler)
    first = asyncio.create_task(get(profiling, "/profile"))
    await asyncio.to_thread(profiler.begun.wait)

    assert (await get(profiling, "/profile")).status == 500
    profiler.may_end.set()
    assert (await first).status == 200
    assert (await get(profiling, "/profile")).status == 200


async def test_stacks_of_all_threads() -> None:
    """In the place of Go's goroutines; this function is in one of them."""
    assert "test_stacks_of_all_threads" in (await get(Profiling(), "/goroutine")).text


async def test_index_names_every_path() -> None:
    """With and without the slash at the end."""
    index = (await get(Profiling(), "/")).text

    assert index == (await get(Profiling(), "")).text
    for path in Profiling().handlers():
        assert path.rpartition("/")[2] in index


async def test_command_line() -> None:
    """Separated by NUL, as in Go."""
    assert "\0" in (await get(Profiling(), "/cmdline")).text
