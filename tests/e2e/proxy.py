"""A bad connection to the API server: plain HTTP in, TLS and the administrator's token out, faults in between.

    python -m tests.e2e.proxy --listen 20001 --server 20000 --authority ca.crt --refuse 0.1 --cut-watches 2

`GET /-/counts` answers how often each fault struck. What a proxy may do to a request:

- refuse it with 429 before the API server sees it,
- answer 500 before the API server sees it, or after it has done what was asked,
- drop the connection after the API server has done what was asked,
- cut a watch in the middle of whatever it was saying.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import ssl
from collections import Counter
from dataclasses import dataclass

from tests.e2e.control_plane import ADMIN_TOKEN

FAULTS = ("429", "500 before", "500 after", "dropped")
_LIMIT = 1 << 24


@dataclass
class Request:
    line: bytes
    headers: list[bytes]
    body: bytes

    @property
    def is_watch(self) -> bool:
        return b"watch=true" in self.line

    def encoded(self) -> bytes:
        return b"\r\n".join([self.line, *self.headers, b"", b""]) + self.body


@dataclass
class Answer:
    head: bytes
    body: bytes


class Proxy:
    """Each connection of a client has one of its own to the API server."""

    def __init__(self, server: int, authority: str, *, refuse: float, cut_watches: float) -> None:
        self._server = server
        self._tls = ssl.create_default_context(cafile=authority)
        self._refuse = refuse
        self._cut_watches = cut_watches
        self.counts: Counter[str] = Counter()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        try:
            while (request := await _read_request(reader)) is not None:
                if request.line.startswith(b"GET /-/counts "):
                    writer.write(_answer(200, json.dumps(self.counts).encode()))
                    continue
                if upstream is None:
                    upstream = await asyncio.open_connection(
                        "127.0.0.1", self._server, ssl=self._tls, limit=_LIMIT
                    )
                if not await self._pass_on(request, upstream, writer):
                    return
        except (OSError, asyncio.IncompleteReadError):
            self.counts["broken"] += 1
        finally:
            for each in (writer, upstream[1] if upstream else None):
                if each is not None:
                    each.close()
                    with contextlib.suppress(OSError):
                        await each.wait_closed()

    async def _pass_on(
        self,
        request: Request,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        client: asyncio.StreamWriter,
    ) -> bool:
        """Whether the connection goes on."""
        self.counts["requests"] += 1
        if request.is_watch:
            await self._watch(request, upstream, client)
            return False
        fault = random.choice(FAULTS) if random.random() < self._refuse else ""  # noqa: S311
        if fault:
            self.counts[fault] += 1
        if fault == "429":
            client.write(_answer(429, _status(429, "TooManyRequests"), "Retry-After: 1"))
        elif fault == "500 before":
            client.write(_answer(500, _status(500, "InternalError")))
        else:
            upstream[1].write(request.encoded())
            answer = await _read_answer(upstream[0])
            if fault == "dropped":
                return False
            if fault == "500 after":
                client.write(_answer(500, _status(500, "InternalError")))
            else:
                client.write(answer.head + answer.body)
        await client.drain()
        return True

    async def _watch(
        self,
        request: Request,
        upstream: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        client: asyncio.StreamWriter,
    ) -> None:
        """Until the API server ends it, or we do."""
        upstream[1].write(request.encoded())
        seconds = self._cut_watches * random.uniform(0.5, 1.5) or None  # noqa: S311
        try:
            async with asyncio.timeout(seconds):
                while data := await upstream[0].read(1 << 16):
                    client.write(data)
                    await client.drain()
        except TimeoutError:
            self.counts["watches cut"] += 1


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    line, *headers = head[:-4].split(b"\r\n")
    length = int(_header(headers, b"content-length") or 0)
    kept = [each for each in headers if not each.lower().startswith(b"authorization:")]
    kept.append(f"Authorization: Bearer {ADMIN_TOKEN}".encode())
    return Request(line, kept, await reader.readexactly(length) if length else b"")


async def _read_answer(reader: asyncio.StreamReader) -> Answer:
    head = await reader.readuntil(b"\r\n\r\n")
    headers = head[:-4].split(b"\r\n")[1:]
    if b"chunked" not in (_header(headers, b"transfer-encoding") or b""):
        return Answer(head, await reader.readexactly(int(_header(headers, b"content-length") or 0)))
    body = bytearray()
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.strip(), 16)
        body += line + await reader.readexactly(size + 2)
        if not size:
            return Answer(head, bytes(body))


def _header(headers: list[bytes], name: bytes) -> bytes | None:
    for each in headers:
        found, _, value = each.partition(b":")
        if found.lower() == name:
            return value.strip()
    return None


def _answer(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def _status(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "by chance"}
    return json.dumps({**status, "reason": reason, "code": code}).encode()


async def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen", type=int, required=True)
    parser.add_argument("--server", type=int, required=True)
    parser.add_argument("--authority", required=True)
    parser.add_argument("--refuse", type=float, default=0.0, help="share of requests that meet a fault")
    parser.add_argument("--cut-watches", type=float, default=0.0, help="seconds that a watch lasts, roughly")
    given = parser.parse_args()
    proxy = Proxy(given.server, given.authority, refuse=given.refuse, cut_watches=given.cut_watches)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", given.listen, limit=_LIMIT)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main())
