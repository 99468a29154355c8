"""`bayplan` as a process of its own: what it logs is in the file `log` of its folder."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp

PROGRAM: Final = Path(sys.executable).with_name("bayplan")
#: Longer than anything takes, also on a busy machine.
SOON: Final = 90.0


@asynccontextmanager
async def started(folder: Path, *words: str) -> AsyncIterator[Process]:
    """`bayplan WORDS…` in *folder*; ended by force if it still runs at the end."""
    with (folder / "log").open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            str(PROGRAM),
            *words,
            cwd=folder,
            stdout=output,
            stderr=output,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def until(condition: Callable[[], object], folder: Path) -> None:
    """Wait until *condition* holds; if it never does, show the log in *folder*."""
    try:
        async with asyncio.timeout(SOON):
            while not condition():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError((folder / "log").read_text()) from None


async def until_logged(folder: Path, text: str) -> None:
    await until(lambda: text in (folder / "log").read_text(), folder)


async def ended(process: Process, folder: Path) -> int:
    """The exit status, as soon as the process has ended by itself."""
    await until(lambda: process.returncode is not None, folder)
    return await process.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert isinstance(port, int)
    return port


async def ask(port: int, path: str, *, method: str = "GET", body: str | None = None) -> tuple[int, str]:
    """Status and text of an answer over HTTPS, whatever the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    url = f"https://127.0.0.1:{port}{path}"
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url, data=body, ssl=context) as response,
    ):
        return response.status, await response.text()
