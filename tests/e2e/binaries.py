"""The programs of a real control plane, and Helm: where they are found, and how they are built where they are not.

There is a module for each release of Kubernetes that Bayplan follows. BAYPLAN_E2E_RELEASE chooses one (1.36);
without it, the newest is taken, Bayplan's default. Each program is looked for in this order, and taken only if it
is of that minor version:

1. the folder that KUBEBUILDER_ASSETS names (etcd, kube-apiserver and kubectl are usually there),
2. the folders of the PATH,
3. the cache folder: BAYPLAN_CONTROL_PLANE, or bayplan/control-plane/<version> in the user's cache, with the
   folders of the other releases beside it: etcd and Helm are the same for all.

`python -m tests.e2e.binaries` builds what is missing into the cache folder, from source, through the Go module
proxy; the modules under control-plane/ pin every version. Tests only look: building takes minutes.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bayplan.release import DEFAULT

MODULES = Path(__file__).parent / "control-plane"
RELEASE_VARIABLE = "BAYPLAN_E2E_RELEASE"
KUBERNETES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
#: Module under control-plane/ (of Kubernetes, without its release) → what is built of it.
BUILT: Mapping[str, Sequence[str]] = {"etcd": ("etcd",), "kubernetes": KUBERNETES, "helm": ("helm",)}
PROGRAMS = tuple(program for programs in BUILT.values() for program in programs)
_FETCHING = "go: downloading"
PROGRESS_SECONDS = 15  # often enough that nobody takes a build for a hang


class MissingProgramError(Exception):
    """A program is neither found nor can be built here; the text says what to do."""


def _pinned(module: str, requirement: str) -> str:
    text = (MODULES / module / "go.mod").read_text()
    found = re.search(rf"^(?:require )?\s*{re.escape(requirement)} (v\S+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{module}/go.mod does not require {requirement}")
    return found[1]


def _pinned_releases() -> dict[str, str]:
    minors = [folder.name.removeprefix("kubernetes-") for folder in MODULES.glob("kubernetes-*")]
    minors.sort(key=lambda minor: int(minor.rpartition(".")[2]))
    return {minor: _pinned(f"kubernetes-{minor}", "k8s.io/kubernetes") for minor in minors}


#: Minor release → the version that is built, the oldest first.
KUBERNETES_VERSIONS = _pinned_releases()


def chosen_release(env: Mapping[str, str] = os.environ) -> str:
    """The minor release that is tested."""
    minor = env.get(RELEASE_VARIABLE) or DEFAULT.minor
    if minor not in KUBERNETES_VERSIONS:
        raise ValueError(f"{RELEASE_VARIABLE} is {minor}; there are {' and '.join(KUBERNETES_VERSIONS)}")
    return minor


def kubernetes_version(env: Mapping[str, str] = os.environ) -> str:
    return KUBERNETES_VERSIONS[chosen_release(env)]


KUBERNETES_VERSION = kubernetes_version()
ETCD_VERSION = _pinned("etcd", "go.etcd.io/etcd/server/v3")
HELM_VERSION = _pinned("helm", "helm.sh/helm/v3")
#: Of the programs that are not Kubernetes' own.
_VERSIONS = {"etcd": ETCD_VERSION, "helm": HELM_VERSION}


def cache_folder(env: Mapping[str, str] = os.environ) -> Path:
    """Where built programs are kept; a new version has a new folder."""
    if chosen := env.get("BAYPLAN_CONTROL_PLANE"):
        return Path(chosen).expanduser().resolve()
    return cache_root(env) / kubernetes_version(env)


def cache_root(env: Mapping[str, str] = os.environ) -> Path:
    """With a folder for each version."""
    return Path(env.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bayplan" / "control-plane"


def _cache_folders(env: Mapping[str, str]) -> list[Path]:
    """The one of the chosen release first."""
    others = () if env.get("BAYPLAN_CONTROL_PLANE") else KUBERNETES_VERSIONS.values()
    return list(dict.fromkeys((cache_folder(env), *(cache_root(env) / version for version in others))))


@dataclass
class Found:
    """What a search came to."""

    paths: dict[str, Path] = field(default_factory=dict)
    #: One line for each program that is there but of another version.
    refused: list[str] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        return [program for program in PROGRAMS if program not in self.paths]


def find(env: Mapping[str, str] = os.environ) -> Found:
    """Look for every program; nothing is built."""
    assets = [Path(env["KUBEBUILDER_ASSETS"])] if env.get("KUBEBUILDER_ASSETS") else []
    on_path = [Path(folder) for folder in env.get("PATH", "").split(os.pathsep) if folder]
    built = _cache_folders(env)
    found = Found()
    for program in PROGRAMS:
        wanted = _wanted(program, env)
        for folder in (*assets, *on_path, *built):
            path = folder / program
            if not (path.is_file() and os.access(path, os.X_OK)):
                continue
            version = _version(path)
            if _same_minor(version, wanted):
                found.paths[program] = path
                break
            if folder not in built:
                found.refused.append(f"{path} is {version or 'of no known version'}, not {_minor(wanted)}")
    return found


def require(env: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Every program's path, for a test."""
    found = find(env)
    if found.missing:
        raise MissingProgramError(
            f"no {', '.join(found.missing)} here; 'make control-plane' builds what is missing"
        )
    return found.paths


def _wanted(program: str, env: Mapping[str, str]) -> str:
    return _VERSIONS.get(program) or kubernetes_version(env)


def _minor(version: str) -> str:
    return version.rpartition(".")[0]


def _same_minor(version: str, wanted: str) -> bool:
    return version.startswith(f"{_minor(wanted)}.")


def _version(path: Path) -> str:
    """What a program says of itself, as v1.2.3; empty if it does not say."""
    arguments = {"kubectl": ("version", "--client"), "helm": ("version",)}.get(path.name, ("--version",))
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=20, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    told = re.search(
        r'(?:Kubernetes |Client Version: |etcd Version: |{Version:")v?(\d+\.\d+\.\d+[^\s"]*)', done.stdout
    )
    return f"v{told[1]}" if told else ""


def install(env: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Build what is missing, once, and return every program's path."""
    found = find(env)
    if not found.missing:
        return found.paths
    for line in found.refused:
        _say(f"Passing over {line}.")
    go = shutil.which("go", path=env.get("PATH"))
    if go is None:
        raise MissingProgramError(_without_go(found.missing, env))
    cache = cache_folder(env)
    cache.mkdir(parents=True, exist_ok=True)
    with _alone(cache / ".lock"):
        missing = find(env).missing
        for module, programs in BUILT.items():
            if wanted := [program for program in programs if program in missing]:
                folder = f"kubernetes-{chosen_release(env)}" if module == "kubernetes" else module
                build(MODULES / folder, wanted, _wanted(wanted[0], env), cache, go=go)
    return require(env)


def _without_go(missing: Sequence[str], env: Mapping[str, str]) -> str:
    return (
        f"The end-to-end tests need a real control plane, and there is no {', '.join(missing)} here,\n"
        "nor Go to build it with. Either\n"
        f"  - install Go {_go_version(env)} or newer and run this again: it builds them, once, or\n"
        f"  - put programs of etcd {_minor(ETCD_VERSION)}, Kubernetes {_minor(kubernetes_version(env))} and "
        f"Helm {_minor(HELM_VERSION)} on the PATH, or into a folder that KUBEBUILDER_ASSETS names.\n"
        "'make test' needs none of this."
    )


def _go_version(env: Mapping[str, str]) -> str:
    text = (MODULES / f"kubernetes-{chosen_release(env)}" / "go.mod").read_text()
    found = re.search(r"^go (\S+)", text, re.MULTILINE)
    return found[1] if found else "1.26"


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One build at a time: whoever comes second waits, and then finds the programs there."""
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say(f"Another process is building into {lock.parent}; waiting for it ...")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield


def build(folder: Path, programs: Sequence[str], version: str, into: Path, *, go: str = "go") -> None:
    """Build programs of one module and move them into place, whole or not at all."""
    _say(f"Building {', '.join(programs)} {version} into {into} ...")
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=".building-", dir=into) as building:
        for program in programs:
            # Build one by one: what they share is compiled with the first, and each line is a sign of life.
            _go(
                go,
                [
                    "build",
                    "-v",
                    "-o",
                    f"{building}/{program}",
                    f"-ldflags={_linker_flags(folder.name, version)}",
                    _package(program),
                ],
                cwd=folder,
                what=program,
            )
            # A program is in the cache only if it runs and says the right version.
            told = _version(Path(building) / program)
            if told != version:
                raise MissingProgramError(
                    f"{program} was built, but says it is {told or 'nothing'} and not {version}"
                )
            (Path(building) / program).rename(into / program)
    _say(f"Built in {time.monotonic() - started:.0f} s.")


def _package(program: str) -> str:
    others = {"etcd": ".", "helm": "helm.sh/helm/v3/cmd/helm"}
    return others.get(program, f"k8s.io/kubernetes/cmd/{program}")


def _linker_flags(module: str, version: str) -> str:
    """No debugger symbols, and the version, where the program's own release build sets it in this way too."""
    if module == "etcd":
        return "-s -w"
    if module == "helm":
        return f"-s -w -X helm.sh/helm/v3/internal/version.version={version}"
    major, minor, _ = version.removeprefix("v").split(".")
    values = {"gitVersion": version, "gitMajor": major, "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(
        ["-s -w", *(f"-X {package}.{name}={value}" for package in packages for name, value in values.items())]
    )


def _go(go: str, arguments: Sequence[str], *, cwd: Path, what: str) -> None:
    """Run Go on what go.sum vouches for; say now and then how far it is, and at the end how long it took."""
    started = time.monotonic()
    env = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    lines: list[str] = []
    with (
        subprocess.Popen([go, *arguments], cwd=cwd, env=env, stderr=subprocess.PIPE, text=True) as running,  # noqa: S603
        _telling(lambda: f"  {what}: {_progress(lines)}, {time.monotonic() - started:.0f} s"),
    ):
        assert running.stderr is not None
        lines.extend(running.stderr)
    if running.returncode:
        messages = [line for line in lines if " " in line and not line.startswith(_FETCHING)]
        raise MissingProgramError(f"{''.join(messages)}'go {' '.join(arguments)}' failed in {cwd}")
    _say(f"  {what}: done in {time.monotonic() - started:.0f} s")


def _progress(lines: Sequence[str]) -> str:
    """Of what Go has said so far: a package has a line to itself."""
    fetched = sum(line.startswith(_FETCHING) for line in lines)
    compiled = sum(" " not in line for line in lines)
    return f"{fetched} modules fetched, {compiled} packages compiled"


@contextmanager
def _telling(text: Callable[[], str]) -> Iterator[None]:
    """Say now and then how far it is, also while Go says nothing: the last step, linking, takes a minute."""
    done = threading.Event()

    def tell() -> None:
        while not done.wait(PROGRESS_SECONDS):
            _say(text())

    thread = threading.Thread(target=tell, name="progress")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Build what is missing and show where everything is."""
    try:
        paths = install()
    except MissingProgramError as error:
        sys.exit(str(error))
    width = max(map(len, paths))
    for program, path in paths.items():
        _say(f"  {program:<{width}}  {path}")


if __name__ == "__main__":
    main()
