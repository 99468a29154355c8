"""Records a release of kube-scheduler, and tells what changed since the release before.

    python -m tools.record v1.38.0 [--since v1.37.1] [--scenarios 500] [--into recordings]

For each of both releases it builds tools/recorder against k8s.io/kubernetes, through the Go module proxy, and lets
it record the same lines: every configuration of tests/parity/golden, and random clusters
(tools/random_scenarios.py).
It writes configs-<release>.jsonl.gz and decisions-<release>.jsonl.gz, which `bayplan conformance` verifies, and
changes-<release>.md: which configurations, plugins, scores and messages differ. The rest of a release is recorded
with other tools: the schemas of the API with tools/condense_schemas.py.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tools.random_scenarios import scenario

ROOT = Path(__file__).parent.parent
RECORDER = Path(__file__).parent / "recorder"
GOLDEN = ROOT / "tests" / "parity" / "golden"
#: Where Kubernetes keeps the modules that it is made of.
STAGING = re.compile(r"^\s+(k8s\.io/\S+) => \./staging/", re.MULTILINE)

Line = dict[str, Any]


# --- the program ------------------------------------------------------------------------------------


def build(release: str) -> Path:
    """The recorder of a release, from the cache or built: minutes, once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bayplan" / "recorder"
    sources = sorted(RECORDER.glob("*.go"))
    program = cache / f"recorder-{release}"
    if program.exists() and program.stat().st_mtime > max(each.stat().st_mtime for each in sources):
        return program
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        for each in sources:
            shutil.copy(each, folder)
        Path(folder, "go.mod").write_text(_module(release))
        print(f"Building the recorder of {release} (minutes, once) ...", flush=True)
        _go("mod", "tidy", cwd=folder)
        _go("build", "-o", "recorder", ".", cwd=folder)
        Path(folder, "recorder").rename(program)
    return program


def _module(release: str) -> str:
    """go.mod: Kubernetes and the modules that were released with it."""
    listed = json.loads(_go("mod", "download", "-json", f"k8s.io/kubernetes@{release}"))
    staged = STAGING.findall(Path(listed["GoMod"]).read_text())
    version = release.replace("v1.", "v0.", 1)
    replaced = "".join(f"\t{name} => {name} {version}\n" for name in staged)
    return (
        f"module bayplan.local/recorder\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes {release}\n\n"
        f"replace (\n{replaced})\n"
    )


def _go(*arguments: str, cwd: str | None = None) -> str:
    env = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-buildvcs=false"}
    done = subprocess.run(["go", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False)  # noqa: S603, S607
    if done.returncode:
        sys.exit(f"'go {' '.join(arguments)}' failed:\n{done.stderr}")
    return done.stdout


def record(program: Path, release: str, lines: Iterable[Line]) -> list[Line]:
    """The lines with their results."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([program, release], input=text, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"the recorder of {release} failed: {done.stderr}")
    return [json.loads(each) for each in done.stdout.splitlines()]


# --- what is recorded -------------------------------------------------------------------------------


def configurations() -> Iterator[Line]:
    """The configurations of the newest recording there is, without their results."""
    newest = max(GOLDEN.glob("configs-*.jsonl.gz"))
    with gzip.open(newest, "rt") as lines:
        for text in lines:
            yield {"kind": "config", "config": json.loads(text)["config"]}


def scenarios(count: int, first: int = 0) -> Iterator[Line]:
    return (scenario(seed) for seed in range(first, first + count))


def write(file: Path, lines: Iterable[Line]) -> None:
    with gzip.open(file, "wt") as out:
        out.writelines(json.dumps(line, sort_keys=True) + "\n" for line in lines)


# --- what changed -----------------------------------------------------------------------------------


def changes(release: str, since: str, old: dict[str, list[Line]], new: dict[str, list[Line]]) -> str:
    """The report, in Markdown."""
    lines = [f"# What {release} changes since {since}", ""]
    for kind in new:
        differing = [
            pair for pair in zip(old[kind], new[kind], strict=True) if _results(pair[0]) != _results(pair[1])
        ]
        lines += [f"## {kind}: {len(differing)} of {len(new[kind])} differ", ""]
        counted = Counter(change for before, after in differing for change in _changes(before, after))
        lines += [f"- {count} × {change}" for change, count in counted.most_common()]
        lines.append("")
    return "\n".join(lines)


def _results(line: Line) -> Line:
    return {key: value for key, value in line.items() if key != "version"}


def _changes(before: Any, after: Any, path: str = "") -> Iterator[str]:
    """What differs, with names of nodes and numbers left out, so that the same change counts as one."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            if key != "version" and before.get(key) != after.get(key):
                yield from _changes(before.get(key), after.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            yield from _changes(old, new, f"{path}[]")
    elif before != after:
        place = re.sub(r"\b[a-z]+\d+\b", "*", path)
        yield f"`{place}`: {_shape(before)} → {_shape(after)}"


def _shape(value: Any) -> str:
    if value is None:
        return "absent"
    text = value if isinstance(value, str) else json.dumps(value)
    return "`" + re.sub(r"\d+", "#", re.sub(r"\b[a-z]\d\d\b", "*", text))[:160] + "`"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("release", help="such as v1.38.0")
    parser.add_argument("--since", default="v1.37.1", help="the release to compare with")
    parser.add_argument("--scenarios", type=int, default=500, help="how many random clusters")
    parser.add_argument("--into", type=Path, default=Path("recordings"), help="where to write")
    chosen = parser.parse_args()
    chosen.into.mkdir(parents=True, exist_ok=True)
    recorded: dict[str, dict[str, list[Line]]] = {}
    for release in (chosen.since, chosen.release):
        program = build(release)
        recorded[release] = {
            "configs": record(program, release, configurations()),
            "decisions": record(program, release, scenarios(chosen.scenarios)),
        }
        for kind, lines in recorded[release].items():
            write(chosen.into / f"{kind}-{release}.jsonl.gz", lines)
    report = chosen.into / f"changes-{chosen.release}.md"
    report.write_text(changes(chosen.release, chosen.since, recorded[chosen.since], recorded[chosen.release]))
    print(
        f"{report}; to hold Bayplan to the release: bayplan conformance {chosen.into}/*-{chosen.release}.jsonl.gz"
    )


if __name__ == "__main__":
    main()
