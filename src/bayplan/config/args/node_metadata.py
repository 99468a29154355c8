"""NodeMetadataArgs: the label or annotation by which nodes are ranked."""

from __future__ import annotations

from typing import Self

import msgspec

from bayplan.config.args.base import Args
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError, did_you_mean, join_or

SOURCES = ("Label", "Annotation")
#: Type of the value → the strategies that make sense for it.
STRATEGIES = {"Number": ("Highest", "Lowest"), "Timestamp": ("Newest", "Oldest")}
RFC3339 = "2006-01-02T15:04:05Z07:00"


class NodeMetadataArgs(Args):
    OMIT_EMPTY = frozenset({"timestamp_format", "default_value"})

    metadata_key: str = ""
    metadata_source: str = ""
    metadata_type: str = ""
    scoring_strategy: str = ""
    #: A time layout in Go's notation.
    timestamp_format: str = ""
    #: The value of a node without the key; empty: it ranks last.
    default_value: str = ""

    def defaulted(self) -> Self:
        if self.metadata_type == "Timestamp" and not self.timestamp_format:
            return msgspec.structs.replace(self, timestamp_format=RFC3339)
        return self

    def validate(self, path: Path) -> list[FieldError]:
        errors = []
        if not self.metadata_key:
            errors.append(FieldError(path / "metadataKey", "the key of a label or an annotation is required"))
        errors += _not_among(self.metadata_source, SOURCES, path / "metadataSource")
        errors += _not_among(self.metadata_type, tuple(STRATEGIES), path / "metadataType")
        every = tuple(name for names in STRATEGIES.values() for name in names)
        possible = STRATEGIES.get(self.metadata_type, every)
        return errors + _not_among(self.scoring_strategy, possible, path / "scoringStrategy")


def _not_among(value: str, choices: tuple[str, ...], path: Path) -> list[FieldError]:
    if value in choices:
        return []
    return [FieldError(path, f'"{value}" is not one of {join_or(choices)}', did_you_mean(value, choices))]
