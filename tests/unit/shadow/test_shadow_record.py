"""Records: counted, written and read again."""

from __future__ import annotations

import msgspec
import pytest

from bayplan.explain.explanation import PodReference
from bayplan.shadow.shadow_record import RecordFileError, ShadowRecord, SummaryBuilder, read_records


def record(class_: str, *, config: str = "a.yaml", n_better: int = 0) -> ShadowRecord:
    return ShadowRecord(
        time="2026-01-01T00:00:00.000+00:00",
        pod=PodReference(namespace="default", name="p"),
        config=config,
        node="n",
        class_=class_,
        n_better=n_better,
    )


def lines(*records: ShadowRecord) -> list[bytes]:
    return [msgspec.json.encode(each) + b"\n" for each in records]


def test_ties_count_as_agreement() -> None:
    summary = SummaryBuilder()
    for class_ in ("same", "tie", "tie", "real"):
        summary.add(record(class_))

    (agreement,) = summary.summary().configs
    assert agreement.agreement == 0.75
    assert (agreement.n_placed, agreement.classes["tie"], agreement.classes["real"]) == (4, 2, 1)
    assert [each.class_ for each in summary.summary().real] == ["real"]


def test_configurations_are_counted_apart() -> None:
    summary = SummaryBuilder(["a.yaml", "b.yaml"])
    summary.add(record("same"))
    summary.add(record("sample", config="b.yaml", n_better=3))
    summary.add(record("sample", config="b.yaml", n_better=4))

    one, other = summary.summary().configs
    assert (one.config, one.agreement) == ("a.yaml", 1.0)
    assert (other.config, other.agreement, other.max_better, other.mean_better) == ("b.yaml", 0.0, 4, 3.5)


def test_records_are_read_as_they_were_written() -> None:
    """Without the summary at the end of the file."""
    records = [record("same"), record("order")]
    end = msgspec.json.encode(SummaryBuilder().summary()) + b"\n"

    assert list(read_records([*lines(*records), end], "f")) == records


def test_a_last_line_that_was_cut_off_is_left_out() -> None:
    """The process was killed."""
    whole, cut = lines(record("same"), record("tie"))

    assert [each.class_ for each in read_records([whole, cut[:40]], "f")] == ["same"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"what is this\n", "f:2: JSON is malformed"),
        (b'{"kind": "Pod"}\n', "f:2: not a ShadowRecord of shadow.bayplan.dev/v1alpha1"),
    ],
)
def test_other_lines_are_refused(line: bytes, problem: str) -> None:
    with pytest.raises(RecordFileError, match=problem):
        list(read_records([*lines(record("same")), line], "f"))
