"""The report: aims, tables, plots, and the raw file that they are made from."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from bench.e2e import aims, record, report
from bench.e2e.charts import Bar, bar_chart
from bench.e2e.groups import grouped, measured
from bench.e2e.plan import Contestant, Mode
from bench.e2e.record import Phase
from tests.unit.bench.e2e.builders import BAYPLAN, KUBE, make_phase

#: Bayplan twice as fast, at a quarter of the CPU; its pods ask for the same.
PAIR = [
    make_phase(KUBE, span=1.0, scheduler_ms=2.0, requests={"POST pods/binding": 101}, events={"Scheduled": 100}),
    make_phase(
        BAYPLAN, span=0.5, scheduler_ms=0.5, requests={"POST pods/binding": 101}, events={"Scheduled": 101}
    ),
]
NULL = make_phase(Contestant.NULL_EVENTS, span=0.4)


def test_phase_is_the_same_when_read_again(tmp_path: Path) -> None:
    """Every figure survives; a step that was done twice counts as it was the last time."""
    again = make_phase(KUBE, span=3.0, pods_per_node={1: 2}, placements=["a"])
    for phase in (*PAIR, again):
        record.append(tmp_path / "raw" / "e2e.jsonl", phase)

    assert record.read(tmp_path / "raw" / "e2e.jsonl") == [again, PAIR[1]]


def test_other_files_are_refused(tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "other").write_text('{"step": 1}\n')

    with pytest.raises(SystemExit, match="other is not a file of this benchmark"):
        record.read(tmp_path / "other")
    with pytest.raises(SystemExit, match="there is no file"):
        record.read(tmp_path / "none")


@pytest.mark.parametrize(
    ("phase", "speed", "with_events"),
    [
        (make_phase(span=2.0), 50, 50),
        (make_phase(span=2.0, backlog=2.0), 50, 25),
        (make_phase(span=0.0), 0, 0),
    ],
    ids=["events at once", "events later", "all at the same moment"],
)
def test_pods_per_second(phase: Phase, speed: float, with_events: float) -> None:
    """The 100 pods after the first one, over the time from the first to the last."""
    assert (phase.pods_per_second, phase.pods_per_second_with_events) == (speed, with_events)


def test_missing_events_are_dropped_ones() -> None:
    """A pod has one event that says where it went."""
    assert [phase.dropped_events for phase in PAIR] == [1, 0]


@pytest.mark.parametrize(
    ("ours", "reached"),
    [({"span": 0.5, "scheduler_ms": 0.5}, (True, True)), ({"span": 0.9, "scheduler_ms": 0.6}, (False, False))],
    ids=["both", "neither"],
)
def test_aims_of_basic(ours: dict[str, Any], reached: tuple[bool, bool]) -> None:
    """A quarter of the CPU at most, 1.6 times the pods/s at least."""
    groups = grouped([PAIR[0], make_phase(BAYPLAN, **ours)])

    pairs = {cpu.workload: (cpu.reached, speed.reached) for cpu, speed in aims.of_workloads(groups)}
    assert pairs["basic"] == reached
    assert pairs["mixed"] == (None, None)


@pytest.mark.parametrize(("span", "reached"), [(0.5, True), (0.6, False)], ids=["80 %", "67 %"])
def test_aim_of_the_null_ceiling(span: float, reached: bool) -> None:
    """At least three quarters of what the null scheduler does with events."""
    ceiling = aims.others(grouped([make_phase(BAYPLAN, span=span), NULL]))[0]

    assert ceiling.reached is reached


@pytest.mark.parametrize(
    ("workload", "mode", "figure", "limit"),
    [
        ("basic", Mode.LATENCY, "p99_ms", 1),
        ("memory", Mode.BURST, "peak_mb", 2),
        ("memory", Mode.BURST, "start_to_first_bind", 2),
        ("plugin", Mode.BURST, "span", 1),
    ],
)
def test_other_aims(workload: str, mode: Mode, figure: str, limit: float) -> None:
    """At most so many times kube-scheduler's, or, of pods/s, at least: a shorter span is more pods/s."""

    def reached(times: float) -> list[bool | None]:
        figures: list[tuple[Contestant, dict[str, Any]]] = [(KUBE, {figure: 10}), (BAYPLAN, {figure: 10 * times})]
        phases = [make_phase(who, workload=workload, mode=mode, **each) for who, each in figures]
        return [aim.reached for aim in aims.others(grouped(phases)) if aim.reached is not None]

    assert True in reached(limit)
    assert False in reached(limit * 1.1)


def test_failed_phases_do_not_count() -> None:
    """They are told apart and are part of no figure."""
    failed = make_phase(BAYPLAN, failure="basic: 3 of 5 pods are not bound\nlog")

    text = report.text([PAIR[0], failed], grouped([PAIR[0], failed]), {}, [])

    assert grouped([failed]) == {}
    assert "- basic: 3 of 5 pods are not bound\n" in text


def test_report_tells_what_was_found(tmp_path: Path) -> None:
    """Ratios, shares of the ceiling, dropped events, and a note on what stands in the way."""
    (tmp_path / "notes.yaml").write_text('"basic: share of the null ceiling, with events": it rains\n')
    slow = make_phase(Contestant.NULL_EVENTS, span=0.25)

    path = report.write([*PAIR, slow], tmp_path)

    text = path.read_text()
    assert "| basic | ≤ 1/4 | 1/4.0 | reached | ≥ 1.6 | 2.00 | reached |" in text
    assert "- **basic: share of the null ceiling, with events** (50%, wanted ≥ 75%): it rains" in text
    assert "Scheduled 100, 1 dropped" in text
    assert all((tmp_path / name).exists() for name in ("e2e-speed.svg", "e2e-cpu.svg"))


def test_other_requests_are_remarked() -> None:
    """A tenth more or less is the same; what differs by more stands beside the figures, as do refusals."""
    more = make_phase(BAYPLAN, requests={"POST pods/binding": 202}, refused={"429 POST pods/binding": 1})

    assert "| same |" in report.text(PAIR, grouped(PAIR), {}, [])
    text = report.text([PAIR[0], more], grouped([PAIR[0], more]), {}, [])
    assert "requests differ: 2.00; Bayplan: 429 POST pods/binding" in text


def test_large_clusters_come_first() -> None:
    """And bursts before the other modes, the comparison of choices nowhere."""
    phases = [
        make_phase(n_nodes=500),
        make_phase(workload="memory"),
        make_phase(mode=Mode.STREAM),
        make_phase(mode=Mode.DECISIONS),
        make_phase(),
    ]

    assert measured(grouped(phases)) == [
        ("basic", Mode.BURST, 5_000),
        ("memory", Mode.BURST, 5_000),
        ("basic", Mode.STREAM, 5_000),
        ("basic", Mode.BURST, 500),
    ]


def test_chart_is_svg() -> None:
    """It can be read as XML, and bars are as long as their values."""
    chart = bar_chart("a < b", [Bar("one", 1.0, 0.5, 2.0), Bar("two", 2.0, 1.5, 2.0, mark=3.0)], base=1)

    root = ElementTree.fromstring(chart)  # noqa: S314  our own
    space = "{http://www.w3.org/2000/svg}"
    _, one, two = (float(each.attrib["width"]) for each in root.iter(f"{space}rect"))
    assert two == pytest.approx(2 * one)
    assert next(each.text for each in root.iter(f"{space}text")) == "a < b"
