"""kubectl on two clusters at once: the same command on both, and what it prints compared."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.e2e.api import PATIENCE
from tests.e2e.binaries import require
from tests.e2e.kubectl_texts import normalised

COMMAND_SECONDS = 120
POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Kubectl:
    """A kubectl program and the cluster that it is for."""

    program: Path
    kubeconfig: Path
    cache: Path

    def run(self, *arguments: str, stdin: str | None = None) -> Done:
        done = subprocess.run(  # noqa: S603
            [self.program, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self._env(),
            timeout=COMMAND_SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def watch(self, *arguments: str, n_lines: int, meanwhile: Callable[[], object]) -> list[str]:
        """The first lines that a command prints that goes on; *meanwhile* is called once it has printed one."""
        command = [str(self.program), *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=self._env()) as running:  # noqa: S603
            assert running.stdout is not None
            watchdog = threading.Timer(COMMAND_SECONDS, running.kill)
            watchdog.start()
            try:
                lines = [running.stdout.readline()]
                meanwhile()
                while len(lines) < n_lines and (line := running.stdout.readline()):
                    lines.append(line)
            finally:
                watchdog.cancel()
                running.kill()
        return lines

    def _env(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.cache), "KUBERC": "off"}


class Both:
    """The same kubectl on the real cluster and on the embedded one."""

    def __init__(self, real: Kubectl, embedded: Kubectl) -> None:
        self.real = real
        self.embedded = embedded
        self.clusters = (real, embedded)

    def __call__(self, *arguments: str, stdin: str | None = None, code: int = 0, is_sorted: bool = False) -> str:
        """Run a command that writes on both; it must end with *code*, and print the same. Returns what that is."""
        told = [_told(kubectl.run(*arguments, stdin=stdin), is_sorted) for kubectl in self.clusters]
        assert_same(arguments, *told)
        assert told[0].startswith(f"exit code {code}\n"), told[0]
        return told[0]

    def at_rest(self, *arguments: str, stdin: str | None = None, code: int = 0, is_sorted: bool = False) -> str:
        """The same for a command that may be run as often as one likes: it must print the same in the end.

        Controllers, schedulers, caches and the writers of events follow in their own time, on either cluster.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self(*arguments, stdin=stdin, code=code, is_sorted=is_sorted)
            except AssertionError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_SECONDS)

    def each(self, *arguments: str, stdin: str | None = None) -> None:
        """Run a command on both that must succeed; what it prints is not looked at."""
        for kubectl in self.clusters:
            done = kubectl.run(*arguments, stdin=stdin)
            assert done.code == 0, (kubectl.kubeconfig, arguments, done.err)

    def watch(self, *arguments: str, n_lines: int, meanwhile: Callable[[Kubectl], object]) -> str:
        """The same for a command that goes on; *meanwhile* is told which cluster it is for."""
        told = []
        for kubectl in self.clusters:
            lines = kubectl.watch(*arguments, n_lines=n_lines, meanwhile=partial(meanwhile, kubectl))
            told.append(normalised("".join(lines)))
        assert_same(arguments, *told)
        return told[0]


def _told(done: Done, is_sorted: bool) -> str:
    out = normalised(done.out)
    if is_sorted:
        out = "\n".join(sorted(out.splitlines()))
    return f"exit code {done.code}\n{out}{normalised(done.err)}"


def assert_same(arguments: Sequence[str], real: str, embedded: str) -> None:
    if real != embedded:
        difference = difflib.unified_diff(
            real.splitlines(), embedded.splitlines(), "real", "embedded", lineterm="", n=4
        )
        raise AssertionError("\n".join(["kubectl " + " ".join(arguments), *difference]))


def programs() -> dict[str, Path]:
    """The kubectls to test with: the one of the control plane, and the machine's own where there is one."""
    found = {"of the control plane": require()["kubectl"]}
    mine = shutil.which("kubectl")
    if mine is not None and Path(mine).resolve() != found["of the control plane"].resolve():
        found["of the machine"] = Path(mine)
    return found
