"""Records a release of Kubernetes, and tells what changed since the release before.

    python -m tools.record v1.38.0 [--since v1.37.1] [--kinds surface,api] [--limit 20] [--into recordings]

Configurations and decisions are recorded with a scheduler in memory (tools/recorder, in Go), of both releases:
every configuration of tests/parity/golden, and random clusters (tools/random_scenarios.py). The other kinds are
recorded on a real control plane of the release: the scenarios of the recordings of the release before are played
again, so that both can be compared. What is missing of the programs is built, through the Go module proxy.

It writes <kind>-<release>.jsonl.gz, which `bayplan conformance` verifies, surface-<release>.json, and
changes-<release>.md, the report. A line that differs from the release before is recorded twice, and left out if
the two are not the same. The schemas of the API are made with tools/condense_schemas.py.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.random_scenarios import scenario
from tools.recording.changes import Comparison, line_changes, report, surface_changes
from tools.recording.claims import record_claims, reordered
from tools.recording.exchanges import record_exchange
from tools.recording.extender_cases import record_extender_case
from tools.recording.go_recorder import build_recorder, record_in_memory
from tools.recording.live_cluster import LiveCluster
from tools.recording.release_programs import UnknownReleaseError, check_release, release_programs
from tools.recording.requeues import record_requeue
from tools.recording.surface import record_surface

from bayplan.conformance.api_requests import SWITCHED_OFF

GOLDEN = Path(__file__).parents[1] / "tests" / "parity" / "golden"
#: Kinds that are recorded on a control plane → how; the name is that of the file.
LIVE: Mapping[str, Callable[[LiveCluster, Mapping[str, Any]], dict[str, Any]]] = {
    "requeue": record_requeue,
    "extenders": record_extender_case,
    "claims": record_claims,
    "api": record_exchange,
}
KINDS = ("surface", "configs", "decisions", *LIVE)

Line = dict[str, Any]


def main() -> None:
    chosen = _arguments()
    try:
        for release in (chosen.release, chosen.since):
            check_release(release)
        Recording(chosen).run()
    except UnknownReleaseError as error:
        sys.exit(str(error))


class Recording:
    """One run: what is recorded, compared and written."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._release: str = chosen.release
        self._since: str = chosen.since
        self._limit: int | None = chosen.limit
        self._n_scenarios: int = chosen.scenarios
        self._n_orders: int = chosen.orders
        self._kinds: Sequence[str] = chosen.kinds
        self._into: Path = chosen.into
        self._programs: dict[str, Path] = {}

    def run(self) -> None:
        self._into.mkdir(parents=True, exist_ok=True)
        if set(self._kinds) & {"surface", *LIVE}:
            self._programs = release_programs(self._release)
        compared = [self._recorded(kind) for kind in self._kinds]
        file = self._into / f"changes-{self._release}.md"
        file.write_text(report(self._release, self._since, compared))
        print(
            f"{file} tells what changed. To hold Bayplan to the release: "
            f"bayplan conformance {self._into}/*-{self._release}.jsonl.gz"
        )

    def _recorded(self, kind: str) -> Comparison:
        started = time.monotonic()
        print(f"Recording {kind} ...", flush=True)
        if kind == "surface":
            compared = self._surface()
        elif kind in LIVE:
            compared = self._live(kind)
        else:
            compared = self._in_memory(kind)
        print(
            f"  {compared.n_identical} of {compared.n_lines} as in {self._since}, "
            f"{len(compared.left_out)} left out, {time.monotonic() - started:.0f} s",
            flush=True,
        )
        return compared

    # --- kinds ------------------------------------------------------------------------------------

    def _surface(self) -> Comparison:
        with tempfile.TemporaryDirectory(prefix="bayplan-surface-", ignore_cleanup_errors=True) as folder:
            recorded = record_surface(self._programs, self._release, Path(folder))
        text = json.dumps(recorded, indent=1, sort_keys=True)
        (self._into / f"surface-{self._release}.json").write_text(f"{text}\n")
        before = GOLDEN / f"surface-{self._since}.json"
        return surface_changes(json.loads(before.read_text()) if before.exists() else recorded, recorded)

    def _live(self, kind: str) -> Comparison:
        compared = Comparison(kind)
        kept: list[Line] = []
        off = {"admission_off": SWITCHED_OFF} if kind == "api" else {}
        with LiveCluster(self._programs, **off) as cluster:

            def record(line: Mapping[str, Any]) -> Line:
                recorded = LIVE[kind](cluster, line)
                cluster.sweep()
                return {**recorded, "version": self._release}

            for line in self._golden(kind):
                recorded = record(line)
                self._judge(compared, kept, line, recorded, lambda line=line: record(line))  # type: ignore[misc]
            if kind == "claims":
                kept += [record(line) for line in self._other_orders()]
        write(self._into / f"{kind}-{self._release}.jsonl.gz", kept)
        return compared

    def _in_memory(self, kind: str) -> Comparison:
        lines = list(self._configurations() if kind == "configs" else self._scenarios())
        programs = {release: build_recorder(release) for release in (self._since, self._release)}
        before, after, again = (
            record_in_memory(programs[release], release, lines)
            for release in (self._since, self._release, self._release)
        )
        compared = Comparison(kind)
        kept: list[Line] = []
        for old, new, second in zip(before, after, again, strict=True):
            self._judge(compared, kept, old, new, lambda second=second: second)  # type: ignore[misc]
        write(self._into / f"{kind}-{self._release}.jsonl.gz", kept)
        return compared

    def _judge(
        self, compared: Comparison, kept: list[Line], before: Line, after: Line, again: Callable[[], Line]
    ) -> None:
        """Keep the line and note its changes, unless a second recording is not the same."""
        changes = line_changes(before, after)
        if changes and line_changes(after, again()):
            compared.left_out.append(str(_name(before)))
            return
        compared.add(changes)
        kept.append(after)

    # --- what is recorded -------------------------------------------------------------------------

    def _golden(self, kind: str) -> Iterator[Line]:
        """The lines of the release before, as many as are wanted."""
        return itertools.islice(self._all(kind), self._limit)

    def _all(self, kind: str) -> Iterator[Line]:
        file = GOLDEN / f"{kind}-{self._since}.jsonl.gz"
        if not file.exists():
            sys.exit(
                f"There is no {file.name} in {GOLDEN} to play again; --since names a release that is recorded"
            )
        return _read(file)

    def _configurations(self) -> Iterator[Line]:
        return ({"kind": "config", "config": line["config"]} for line in self._golden("configs"))

    def _scenarios(self) -> Iterator[Line]:
        return (scenario(seed) for seed in range(self._n_scenarios))

    def _other_orders(self) -> Iterator[Line]:
        """New scenarios with claims, beside those of the release before."""
        lines = list(self._all("claims"))
        return (reordered(lines[number % len(lines)], 10_000 + number) for number in range(self._n_orders))


def _name(line: Mapping[str, Any]) -> Any:
    return line.get("case") or line.get("name") or line.get("seed", "a configuration")


def _read(file: Path) -> Iterator[Line]:
    with gzip.open(file, "rt") as lines:
        for text in lines:
            yield json.loads(text)


def write(file: Path, lines: Iterable[Line]) -> None:
    with gzip.open(file, "wt") as out:
        out.writelines(json.dumps(line, sort_keys=True) + "\n" for line in lines)


# --- arguments ----------------------------------------------------------------------------------------


def release_before(release: str) -> str:
    """The newest recorded release that is older; the oldest one is compared with itself."""
    recorded = sorted((_version(file) for file in GOLDEN.glob("configs-v*.jsonl.gz")), key=_numbers)
    older = [each for each in recorded if _numbers(each) < _numbers(release)]
    return (older or recorded)[-1 if older else 0]


def _version(file: Path) -> str:
    return file.name.partition("-")[2].removesuffix(".jsonl.gz")


def _numbers(release: str) -> list[int]:
    return [int(part) for part in release.removeprefix("v").partition("-")[0].split(".") if part.isdigit()]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.record", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("release", help="such as v1.38.0")
    parser.add_argument("--since", help="the release to compare with; the newest recorded one before it")
    parser.add_argument("--kinds", type=_kinds, default=KINDS, help=f"some of {','.join(KINDS)}")
    parser.add_argument("--limit", type=int, help="how many lines of each kind; all")
    parser.add_argument("--scenarios", type=int, default=500, help="how many random clusters for decisions")
    parser.add_argument("--orders", type=int, default=0, help="how many more claims: pods in another order")
    parser.add_argument("--into", type=Path, default=Path("recordings"), help="where to write")
    chosen = parser.parse_args()
    chosen.since = chosen.since or release_before(chosen.release)
    return chosen


def _kinds(text: str) -> tuple[str, ...]:
    wanted = text.split(",")
    if unknown := set(wanted) - set(KINDS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in wanted)


if __name__ == "__main__":
    main()
