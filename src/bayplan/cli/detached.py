"""The cluster of `bayplan up --detach`: a process in the background, and the file that says which one it is.

A process is known by its id and the time it was started: the system gives the id to another one later.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec

from bayplan.cli.private_files import state_folder, write_private

_POLL_SECONDS: Final = 0.05
_LOG_LINES: Final = 20


class DetachedCluster(msgspec.Struct, frozen=True):
    """What is known of the process."""

    pid: int
    #: When the process was started, in the words of the system; see `_started`.
    started: str
    #: The same for people, in RFC 3339.
    since: str
    server: str
    kubeconfig: str
    log: str
    #: The user's own kubeconfig, if it has a context of ours.
    merged: str = ""

    @property
    def is_running(self) -> bool:
        return _started(self.pid) == self.started

    def wait(self, seconds: float) -> bool:
        """Whether the process ended within *seconds*."""
        end = time.monotonic() + seconds
        while self.is_running:
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_SECONDS)
        return True


def _file() -> Path:
    return state_folder() / "detached.json"


def load() -> DetachedCluster | None:
    """The cluster that was started last and not stopped; it may have ended by itself."""
    try:
        return msgspec.json.decode(_file().read_bytes(), type=DetachedCluster)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise click.ClickException(f"cannot read {_file()}: {error.strerror}") from error
    except msgspec.MsgspecError as error:
        raise click.ClickException(f"{_file()} is damaged ({error}); delete it") from error


def forget(cluster: DetachedCluster) -> None:
    """Remove what is left of a cluster that has ended, also if it could not do so itself."""
    if cluster.merged:
        from bayplan.cli.merged_context import remove_context

        remove_context(Path(cluster.merged), cluster.server)
    _file().unlink(missing_ok=True)


def start(words: Sequence[str], kubeconfig: Path, merged: Path | None) -> DetachedCluster:
    """Run `bayplan up` with *words* in the background; returns when the cluster is up.

    It writes *kubeconfig* then; if it ends before that, the end of its log is the error.
    """
    with _only_one():
        present = load()
        if present is not None and present.is_running:
            raise click.ClickException(
                f"a cluster is running in the background (process {present.pid}, {present.server}); "
                "stop it first: bayplan down"
            )
        log = state_folder() / "up.log"
        before = _stamp(kubeconfig)
        process = _spawn(words, log)
        try:
            while _stamp(kubeconfig) == before:
                if process.poll() is not None:
                    raise click.ClickException(f"the cluster did not start:\n{_last_lines(log)}")
                time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            process.terminate()
            raise
        cluster = _describe(process.pid, kubeconfig, log, merged)
        write_private(_file(), msgspec.json.encode(cluster).decode())
        # It outlives us, so nobody waits for it.
        process.returncode = 0
        return cluster


@contextmanager
def _only_one() -> Iterator[None]:
    """Two that start at the same time would not know of each other."""
    state_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with (state_folder() / "detached.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise click.ClickException("another bayplan up --detach is just starting a cluster") from None
        yield


def _spawn(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    # -P: as with the command itself, modules are not looked for in the current directory.
    command = [sys.executable, "-P", "-m", "bayplan", "up", *words]
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        return subprocess.Popen(  # noqa: S603  this program, with the user's own arguments
            command,
            stdin=None if "-" in words else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
    finally:
        os.close(output)


def _stamp(path: Path) -> tuple[int, int] | None:
    """Differs for every writing of the file, which is by renaming."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _describe(pid: int, kubeconfig: Path, log: Path, merged: Path | None) -> DetachedCluster:
    from bayplan.client.kubeconfig import load_access

    return DetachedCluster(
        pid=pid,
        started=_started(pid),
        since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        server=load_access(str(kubeconfig)).server,
        kubeconfig=str(kubeconfig.absolute()),
        log=str(log),
        merged=str(merged.absolute()) if merged is not None else "",
    )


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-_LOG_LINES:])


def _started(pid: int) -> str:
    """When the process was started; empty if it has ended."""
    try:
        # The name of the program, in brackets, may contain anything; what we read comes after it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return "" if Path("/proc/self/stat").exists() else _started_by_ps(pid)
    except OSError:
        return ""
    state, ticks = fields[0], fields[19]
    return "" if state in "ZX" else ticks


def _started_by_ps(pid: int) -> str:
    """The same where there is no /proc."""
    command = ["ps", "-o", "stat=,lstart=", "-p", str(pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    state, _, started = found.partition(" ")
    return "" if state.startswith("Z") else started.strip()
