"""ShadowRecord: how one placement compares with Bayplan's decision; and the summary of many. The JSONL of
`bayplan shadow`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from bayplan.explain.explanation import Explained, PodReference, ScoreDifference

API_VERSION: Final = "shadow.bayplan.dev/v1alpha1"

#: The scheduler took the only best node; one of several equally good ones, between which chance decides.
SAME: Final = "same"
TIE: Final = "tie"
#: It took the best node of a sample; of an older ranking; of the cluster in another order of events.
SAMPLE: Final = "sample"
BATCH: Final = "batch"
ORDER: Final = "order"
#: None of these explains the node.
REAL: Final = "real"
CLASSES: Final = (SAME, TIE, SAMPLE, BATCH, ORDER, REAL)
#: Classes in which both decide alike.
AGREEING: Final = frozenset({SAME, TIE})
MEANINGS: Final = {
    SAME: "the only best node",
    TIE: "one of several equally good nodes, where chance decides",
    SAMPLE: "better nodes were outside the sample of nodes that the scheduler looks at",
    BATCH: "the next node of the ranking for the pod before, which was of the same kind",
    ORDER: "the best node of the cluster in another order of events",
    REAL: "explained by none of these",
}


class ShadowRecord(Explained, frozen=True, kw_only=True):
    """One placement, compared with the decision by one configuration."""

    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "ShadowRecord")
    time: str
    pod: PodReference
    #: The name of the configuration.
    config: str
    #: Where the scheduler placed the pod.
    node: str
    #: One of CLASSES.
    class_: str = msgspec.field(name="class")
    #: The nodes that Bayplan would have chosen from, by name; empty if it would have placed the pod nowhere.
    best: tuple[str, ...] = ()
    n_best: int = 0
    n_feasible: int = 0
    #: How many nodes score higher than *node*.
    n_better: int = 0
    total: int | None = None
    best_total: int | None = None
    #: The chance that a sample leaves out all better nodes.
    chance: float | None = None
    #: Best node minus *node*, by plugin.
    differences: tuple[ScoreDifference, ...] = ()
    reason: str = ""


class ConfigAgreement(Explained, frozen=True, kw_only=True):
    """How one configuration compares with the scheduler."""

    config: str
    n_placed: int
    #: Class → number of pods.
    classes: dict[str, int]
    #: The share of pods for which both decide alike, ties included.
    agreement: float
    #: Among pods of the class *sample*: how many better nodes there were, at most and on average.
    max_better: int = 0
    mean_better: float = 0.0


class ShadowSummary(Explained, frozen=True, kw_only=True):
    api_version: str = msgspec.field(default_factory=lambda: API_VERSION)
    kind: str = msgspec.field(default_factory=lambda: "ShadowSummary")
    configs: tuple[ConfigAgreement, ...]
    #: Records of disagreements that nothing explains; the first of them.
    real: tuple[ShadowRecord, ...] = ()


#: How many records of the class *real* a summary has.
N_SHOWN: Final = 20


class SummaryBuilder:
    """Counts records, one at a time."""

    def __init__(self, configs: Iterable[str] = ()) -> None:
        self._classes: dict[str, dict[str, int]] = {}
        self._better: dict[str, list[int]] = {}
        self._real: list[ShadowRecord] = []
        for config in configs:
            self._of(config)

    def _of(self, config: str) -> dict[str, int]:
        return self._classes.setdefault(config, dict.fromkeys(CLASSES, 0))

    def add(self, record: ShadowRecord) -> None:
        classes = self._of(record.config)
        classes[record.class_] = classes.get(record.class_, 0) + 1
        if record.class_ == SAMPLE:
            self._better.setdefault(record.config, []).append(record.n_better)
        elif record.class_ == REAL and len(self._real) < N_SHOWN:
            self._real.append(record)

    def summary(self) -> ShadowSummary:
        return ShadowSummary(
            configs=tuple(self._agreement(config) for config in self._classes), real=tuple(self._real)
        )

    def _agreement(self, config: str) -> ConfigAgreement:
        classes, better = self._classes[config], self._better.get(config, [])
        n_placed = sum(classes.values())
        n_alike = sum(count for name, count in classes.items() if name in AGREEING)
        return ConfigAgreement(
            config=config,
            n_placed=n_placed,
            classes=dict(classes),
            agreement=n_alike / n_placed if n_placed else 1.0,
            max_better=max(better, default=0),
            mean_better=round(sum(better) / len(better), 2) if better else 0.0,
        )


class RecordFileError(Exception):
    """A file is not what `bayplan shadow` writes."""


class _Head(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


def read_records(lines: Iterable[bytes], source: str) -> Iterator[ShadowRecord]:
    """The records of a JSONL file; its summaries are left out. A last line that was cut off is left out as well.

    Raises RecordFileError.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            head = msgspec.json.decode(line, type=_Head)
            if head.kind == "ShadowSummary":
                continue
            if (head.api_version, head.kind) != (API_VERSION, "ShadowRecord"):
                raise RecordFileError(f"{source}:{number}: not a ShadowRecord of {API_VERSION}")
            yield msgspec.json.decode(line, type=ShadowRecord)
        except msgspec.DecodeError as error:
            if not line.endswith(b"\n"):
                return
            raise RecordFileError(f"{source}:{number}: {error}") from None
