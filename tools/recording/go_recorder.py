"""The recorder in Go: what the scheduler of a release makes of configurations and clusters in memory.

tools/recorder is built against k8s.io/kubernetes of the release, through the Go module proxy.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.recording.release_programs import go, replaced_modules

SOURCES = Path(__file__).parents[1] / "recorder"

Line = dict[str, Any]


def build_recorder(release: str) -> Path:
    """The recorder of a release, from the cache or built: minutes, once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "bayplan" / "recorder"
    sources = sorted(SOURCES.glob("*.go"))
    program = cache / f"recorder-{release}"
    if program.exists() and program.stat().st_mtime > max(each.stat().st_mtime for each in sources):
        return program
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        for each in sources:
            shutil.copy(each, folder)
        Path(folder, "go.mod").write_text(_module(release))
        print(f"Building the recorder of {release} (minutes, once) ...", flush=True)
        go("mod", "tidy", cwd=folder)
        go("build", "-o", "recorder", ".", cwd=folder)
        Path(folder, "recorder").rename(program)
    return program


def _module(release: str) -> str:
    return (
        f"module bayplan.local/recorder\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes {release}\n\n"
        f"{replaced_modules(release)}"
    )


def record_in_memory(program: Path, release: str, lines: Iterable[Line]) -> list[Line]:
    """The lines with their results."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([program, release], input=text, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        sys.exit(f"the recorder of {release} failed: {done.stderr}")
    return [json.loads(each) for each in done.stdout.splitlines()]
