"""Reading traces, and what is said about bad ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.unit.lab.traces import NODES_CSV, PODS_CSV, small_trace

from bayplan.lab import PodArrival, Trace, TraceError, read_trace
from bayplan.lab.jsonl_trace import write
from bayplan.testing import make_pod

HEADER = '{"kind": "BayplanTrace", "version": 1}\n'
POD = '{"time": 1, "pod": {"metadata": {"name": "p"}, "spec": {"containers": []}}}\n'
END = '{"time": 9, "end": true}\n'


def refusal(file: Path, text: str) -> str:
    file.write_text(text)
    with pytest.raises(TraceError) as caught:
        read_trace(file)
    return str(caught.value)


def test_openb(tmp_path: Path) -> None:
    """Two files, one of them compressed."""
    (tmp_path / "nodes.csv").write_text(NODES_CSV)
    (tmp_path / "pods.csv.gz").write_bytes(gzip.compress(PODS_CSV.encode()))

    trace = read_trace(tmp_path / "nodes.csv", tmp_path / "pods.csv.gz")

    assert [node.name for node in trace.nodes] == ["node-a", "node-b", "node-c"]
    assert trace.nodes[1].labels["alibabacloud.com/gpu-card-model"] == "V100M32"
    first, second, third = trace.pods
    assert (first.time, first.end, first.duration) == (0.0, 100.0, 100.0)
    assert dict(first.pod.annotations) == {
        "alibabacloud.com/gpu-count": "1",
        "alibabacloud.com/gpu-milli": "500",
    }
    assert (second.end, second.duration) == (60.0, 50.0)
    assert second.pod.annotations["alibabacloud.com/gpu-card-model"] == "T4|V100M32"
    assert (third.end, third.duration) == (None, None)
    assert third.pod.requests["cpu"] == 2000


def test_openb_need_not_be_in_the_order_of_time(tmp_path: Path) -> None:
    """Two of the published mixes are not."""
    lines = PODS_CSV.splitlines(keepends=True)
    (tmp_path / "pods.csv").write_text(lines[0] + "".join(reversed(lines[1:])))

    assert [each.time for each in read_trace(tmp_path / "pods.csv").pods] == [0.0, 5.0, 5.0]


def test_our_own_form_comes_back_as_it_was_written(tmp_path: Path) -> None:
    trace = small_trace(3, end=20.0, duration=4.0)
    file = tmp_path / "trace.jsonl"
    file.write_text("".join(write(trace)))

    read = read_trace(file)

    assert [(each.time, each.pod.key, each.end, each.duration) for each in read.pods] == [
        (each.time, each.pod.key, each.end, each.duration) for each in trace.pods
    ]
    assert [node.allocatable for node in read.nodes] == [node.allocatable for node in trace.nodes]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEADER + POD,
            't.jsonl: the trace is cut after line 2: its last line {"time": …, "end": true} is missing',
        ),
        (HEADER + POD[:30], "t.jsonl:2: not a whole JSON object; is the trace cut?"),
        (HEADER.replace("1}", "2}"), "t.jsonl:1: a trace of version 2; this Bayplan reads version 1"),
        ('{"kind": "Pod"}\n', "t.jsonl:1: the first line of a trace is"),
        (HEADER + END + POD, "t.jsonl:3: something follows the closing line"),
        (HEADER + END.replace("9", "-1"), "t.jsonl:2: time: seconds since the trace began are expected, not -1"),
        (HEADER + POD + END.replace("9", "0"), "t.jsonl:3: time goes backwards: 0 after 1"),
        (HEADER + POD + POD + END, "t.jsonl:3: the pod default/p is there already"),
        (HEADER + '{"time": 2, "podGone": "p"}\n', "t.jsonl:2: podGone: no pod 'p' is there"),
        (HEADER + '{"time": 2, "pot": {}}\n', "t.jsonl:2: none of object, pod, podGone, nodeGone, end is there"),
        (HEADER + '{"time": 2, "pod": {}}\n', "t.jsonl:2: pod: 'metadata'"),
        (HEADER + '{"time": 2, "object": {"kind": "Nod"}}\n', "t.jsonl:2: object: "),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path / "t.jsonl", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            PODS_CSV.replace(",gpu_milli,", ",milli,"),
            "p.csv:1: columns are missing for a list of pods: gpu_milli;",
        ),
        (NODES_CSV.replace(",model", ",type"), "p.csv:1: columns are missing for a list of nodes: model;"),
        (
            PODS_CSV.replace(",5,60,", ",5,4,"),
            "p.csv:3: deletion_time: time goes backwards: 4 after the creation at 5",
        ),
        (PODS_CSV[:-20], "p.csv:4: too few columns; is the trace cut?"),
        (
            PODS_CSV.replace(",60,10", ",60,4"),
            "p.csv:3: scheduled_time: time goes backwards: 4 after the creation",
        ),
        (PODS_CSV.replace("8000", "many"), "p.csv:3: cpu_milli: a number of 0 or more is expected, not 'many'"),
        ("hello\n", "p.csv:1: no trace that is known"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, text: str, message: str) -> None:
    assert message in refusal(tmp_path / "p.csv", text)


def test_a_compressed_file_that_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "pods.csv.gz"
    file.write_bytes(gzip.compress(PODS_CSV.encode())[:-12])

    with pytest.raises(TraceError, match=r"pods\.csv\.gz: the file is cut or damaged"):
        read_trace(file)


def test_a_reader_of_your_own(tmp_path: Path) -> None:
    """As a function, or by its name."""
    (tmp_path / "t.txt").write_text("0 a\n3 b\n")
    (tmp_path / "mine.py").write_text(
        "from bayplan.lab import PodArrival\n"
        "from bayplan.testing import make_pod\n"
        "def read(lines, source):\n"
        "    for line in lines:\n"
        "        time, name = line.split()\n"
        "        yield PodArrival(float(time), make_pod(name))\n"
    )

    named = read_trace(tmp_path / "t.txt", reader=f"{tmp_path / 'mine.py'}:read")
    given = read_trace(
        tmp_path / "t.txt", reader=lambda lines, source: [PodArrival(0.0, make_pod(line[2])) for line in lines]
    )

    assert [(each.time, each.pod.name) for each in named.pods] == [(0.0, "a"), (3.0, "b")]
    assert [each.pod.name for each in given.pods] == ["a", "b"]
    with pytest.raises(TraceError, match="has no function red"):
        read_trace(tmp_path / "t.txt", reader=f"{tmp_path / 'mine.py'}:red")
    with pytest.raises(TraceError, match="names no reader"):
        read_trace(tmp_path / "t.txt", reader="mine")


def test_an_empty_trace() -> None:
    assert Trace.of([]).pods == []
