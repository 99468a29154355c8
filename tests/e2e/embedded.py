"""The embedded API server of the tested release, in a thread, for tests that ask it what they ask a real one."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import uvloop
from tests.e2e.api import Api
from tests.e2e.binaries import chosen_release

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.http_server import HttpServer
from bayplan.clock import SystemClock
from bayplan.release import release_named

START_SECONDS = 30


class EmbeddedServer:
    """An `ApiServer` at an address, with a client (`api`) as administrator."""

    def __init__(self, folder: Path, **options: Any) -> None:
        """*options* are those of `ApiServer`."""
        self._options = options
        self._authority = folder / "embedded.crt"
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: uvloop.run(self._run()), name="embedded API server")
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self.server: ApiServer
        self.http: HttpServer
        self.api: Api

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self.server = ApiServer(SystemClock(), release=release_named(chosen_release()), **self._options)
        self.http = HttpServer(self.server)
        await self.http.start()
        self._ready.set()
        await self._stop.wait()
        await self.http.stop()
        self.server.close()

    def __enter__(self) -> EmbeddedServer:
        self._thread.start()
        if not self._ready.wait(START_SECONDS):
            raise TimeoutError("the embedded API server did not start")
        self._authority.write_bytes(self.http.certificate)
        self.api = Api(self.http.port, authority=self._authority, token=self.http.token)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.api.close()
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def forget_history(self) -> None:
        """All that has happened so far is too old to be asked for."""
        done = threading.Event()

        def compact() -> None:
            self.server.store.compact(self.server.store.version)
            done.set()

        self._loop.call_soon_threadsafe(compact)
        done.wait()
