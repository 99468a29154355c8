"""Forks API servers on a folder: each `start` line on stdin starts one, so that it is ready at once.

Prints the process id and the port for each line. Not a test.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.http_server import HttpServer
from bayplan.clock import SystemClock


async def serve(folder: Path, port: int, report: int) -> None:
    server = HttpServer(ApiServer(SystemClock(), folder), port=port)
    await server.start()
    (folder / "kubeconfig").write_text(server.kubeconfig())
    os.write(report, f"{os.getpid()} {server.port}\n".encode())
    await asyncio.Event().wait()


def main() -> None:
    folder, port = Path(sys.argv[1]), 0
    ApiServer(SystemClock())  # schemas are read once, before the first fork
    for _ in sys.stdin:
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(0)
            asyncio.run(serve(folder, port, writing))
        os.close(writing)
        with os.fdopen(reading) as report:
            line = report.readline()
        port = int(line.split()[1])
        print(line, end="", flush=True)
        os.wait()  # until somebody kills it


if __name__ == "__main__":
    main()
