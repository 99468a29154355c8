"""The programs of a control plane of any release: those of the tests, or built for the recording.

A release that the tests do not know yet has no module under tests/e2e/control-plane; one is made for it, and what
is built goes into the same cache, so that it is there when the tests follow.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.e2e.binaries import (
    KUBERNETES,
    KUBERNETES_VERSIONS,
    RELEASE_VARIABLE,
    build,
    cache_root,
    install,
)

_RELEASE = re.compile(r"v1\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?")
#: Where Kubernetes keeps the modules that it is made of.
_STAGING = re.compile(r"^\s+(k8s\.io/\S+) => \./staging/", re.MULTILINE)


class UnknownReleaseError(Exception):
    """There is no such release; the text says what was asked for and what is possible."""


def check_release(release: str) -> None:
    """Whether there is such a release of Kubernetes, before anything is built."""
    if not _RELEASE.fullmatch(release):
        raise UnknownReleaseError(f"{release} is no release of Kubernetes: write it like v1.38.0")
    module_file(release)


def module_file(release: str) -> Path:
    """go.mod of Kubernetes, from the Go module proxy."""
    done = subprocess.run(  # noqa: S603
        ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{release}"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(done.stdout) if done.stdout.startswith("{") else {"Error": done.stderr.strip()}
    if "Error" in told or "GoMod" not in told:
        raise UnknownReleaseError(
            f"The Go module proxy has no k8s.io/kubernetes@{release}: {told.get('Error', 'no answer')}"
        )
    return Path(told["GoMod"])


def replaced_modules(release: str) -> str:
    """For a go.mod: the modules that are released together with Kubernetes, as they were released."""
    staged = _STAGING.findall(module_file(release).read_text())
    version = release.replace("v1.", "v0.", 1)
    return "replace (\n" + "".join(f"\t{name} => {name} {version}\n" for name in staged) + ")\n"


def release_programs(release: str) -> dict[str, Path]:
    """Every program of a control plane, of exactly this release."""
    minor = release.removeprefix("v").rpartition(".")[0]
    if KUBERNETES_VERSIONS.get(minor) == release:
        return install({**os.environ, RELEASE_VARIABLE: minor})
    others = {name: path for name, path in install().items() if name not in KUBERNETES}
    folder = cache_root() / release
    missing = [program for program in KUBERNETES if not (folder / program).exists()]
    if missing:
        _build(release, minor, missing, folder)
    return {**others, **{program: folder / program for program in KUBERNETES}}


def _build(release: str, minor: str, programs: list[str], into: Path) -> None:
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into) as parent:
        module = Path(parent, f"kubernetes-{minor}")
        module.mkdir()
        (module / "go.mod").write_text(_module(release, minor))
        go("mod", "tidy", cwd=str(module))
        build(module, programs, release, into)


def _module(release: str, minor: str) -> str:
    """As those under tests/e2e/control-plane."""
    tools = "".join(f"\tk8s.io/kubernetes/cmd/{program}\n" for program in KUBERNETES)
    return (
        f"module bayplan.local/e2e/kubernetes-{minor}\n\ngo 1.26.0\n\ntool (\n{tools})\n\n"
        f"require k8s.io/kubernetes {release}\n\n{replaced_modules(release)}"
    )


def go(*arguments: str, cwd: str) -> str:
    """What Go prints; the recording ends with its words if it fails."""
    env = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-buildvcs=false"}
    done = subprocess.run(["go", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)  # noqa: S603, S607
    if done.returncode:
        sys.exit(f"'go {' '.join(arguments)}' failed:\n{done.stderr}")
    return done.stdout
