"""Processes of a test: each with a log file, all gone when the test process is gone, whatever ended it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

#: Reads until the test process closes its end, or dies; then ends its process group, itself included.
_WATCHDOG = 'cat >/dev/null; rm -rf -- "$@"; kill -KILL 0'
POLL_SECONDS = 0.02


class NotReadyError(Exception):
    """A process ended, or did not become ready in time; the text has the end of its log."""


class Process:
    """One running program; its output is in `log`."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str | Path],
        *,
        log: Path,
        group: int,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        #: Where it serves HTTPS, if the one who started it knows.
        self.port: int | None = None
        with log.open("ab") as output:
            self._popen = subprocess.Popen(  # noqa: S603
                [str(argument) for argument in arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
                process_group=group,
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    @property
    def returncode(self) -> int | None:
        return self._popen.poll()

    def signal(self, number: signal.Signals) -> None:
        """SIGCONT wakes it after `freeze`, SIGKILL ends it without a word."""
        self._popen.send_signal(number)

    def freeze(self) -> None:
        """Stop it until SIGCONT; nothing of it runs any more when this returns."""
        self._popen.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED)

    def wait(self, timeout: float = 60) -> int:
        return self._popen.wait(timeout)

    def kill(self) -> None:
        """End it without a word, as a crash would."""
        self._popen.kill()
        self._popen.wait()

    def stop(self, timeout: float = 30) -> int:
        """Ask it to end, and insist after `timeout` seconds; returns its exit code."""
        self._popen.terminate()
        # A frozen process hears nothing until it is woken.
        self._popen.send_signal(signal.SIGCONT)
        try:
            return self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._popen.returncode

    def wait_until(self, ready: Callable[[], bool], *, timeout: float) -> None:
        """Poll `ready`; a process that ends meanwhile is an error at once."""
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running:
                raise NotReadyError(f"{self.name} ended with code {self.returncode}:\n{self.tail()}")
            if time.monotonic() > deadline:
                raise NotReadyError(f"{self.name} was not ready after {timeout:g} s:\n{self.tail()}")
            time.sleep(POLL_SECONDS)

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])


class ProcessGroup:
    """Processes that live and die together.

    They share one process group, whose leader is a watchdog that waits for the end of a pipe from this process. So
    Ctrl-C in a terminal does not reach them, and they end even when this process is killed outright.
    """

    def __init__(self, logs: Path, *, scratch: Sequence[Path] = ()) -> None:
        self._logs = logs
        self._scratch = scratch
        self._watchdog = subprocess.Popen(  # noqa: S603
            ["/bin/sh", "-c", _WATCHDOG, "watchdog", *map(str, scratch)], stdin=subprocess.PIPE, process_group=0
        )
        self._processes: list[Process] = []

    def start(
        self, name: str, arguments: Sequence[str | Path], *, env: Mapping[str, str] | None = None
    ) -> Process:
        """Start a program; one that was started before under this name continues its log."""
        log = self._logs / f"{name}.log"
        process = Process(name, arguments, log=log, group=self._watchdog.pid, env=env)
        self._processes.append(process)
        return process

    def logs(self) -> list[Path]:
        """Every log, in the order of first start."""
        return list(dict.fromkeys(process.log for process in self._processes))

    def end_others(self, *kept: Process) -> None:
        """End every process but these, now, and remove the logs of those that have ended."""
        for process in self._processes:
            if process not in kept:
                process.kill()
        self._processes = list(kept)
        for log in set(self._logs.glob("*.log")) - {process.log for process in kept}:
            log.unlink()

    def end(self) -> None:
        """End every process, now, and remove the scratch folders."""
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.close()
        self._watchdog.wait()
        for process in self._processes:
            process.wait()
        # The watchdog removed them while etcd may still have been writing.
        for folder in self._scratch:
            shutil.rmtree(folder, ignore_errors=True)
