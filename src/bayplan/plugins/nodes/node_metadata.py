"""NodeMetadata: ranks nodes by a number or a timestamp in one of their labels or annotations.

A node without the key, or with an invalid value, ranks last.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache
from typing import Final

import numpy as np

from bayplan.config.args import NodeMetadataArgs
from bayplan.framework import MAX_SCORE, MIN_SCORE, CycleState, IntArray, NodeTable, Plugin, Reads
from bayplan.model import Pod
from bayplan.plugins._min_max import truncated_quotients
from bayplan.plugins.nodes._go_time import parse_go_time

#: Stands for "no value"; no real value is that low.
_NONE: Final = np.iinfo(np.int64).min
#: Decimal numbers as Go parses them.
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class NodeMetadata(Plugin[NodeMetadataArgs]):
    name = "NodeMetadata"
    reads = Reads.NODE

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        now = self.handle.clock.now()
        if self.args.metadata_source == "Label":
            column = nodes.label(self.args.metadata_key)
            by_value = [self._score(value, now) for value in column.values]
            # −1 stands for "absent" and picks the last entry.
            return np.array([*by_value, self._score(None, now)], dtype=np.int64)[column.codes]
        texts = (node.annotations.get(self.args.metadata_key) for node in nodes)
        return np.fromiter((self._score(text, now) for text in texts), dtype=np.int64, count=len(nodes))

    def _score(self, text: str | None, now: float) -> int:
        text = self.args.default_value if text is None else text
        if self.args.metadata_type == "Number":
            number = _number(text)
            if number is None:
                return _NONE
            return -number if self.args.scoring_strategy == "Lowest" else number
        instant = _instant(self.args.timestamp_format, text)
        if instant is None:
            return _NONE
        age_seconds = int(now - instant)
        return -age_seconds if self.args.scoring_strategy == "Newest" else age_seconds

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        """0 for nodes without a value, 1 … 100 for the others."""
        has_value = scores != _NONE
        if not has_value.any():
            return np.zeros_like(scores)
        values = scores[has_value]
        lowest, span = values.min(), values.max() - values.min()
        worst = MIN_SCORE + 1
        normalized = np.full_like(scores, MIN_SCORE)
        normalized[has_value] = (
            truncated_quotients((values - lowest) * (MAX_SCORE - worst), span) + worst if span else worst
        )
        return normalized

    def sign(self, pod: Pod) -> Hashable | None:
        """All pods get the same scores; by age, these change every second and cannot be cached."""
        return () if self.args.metadata_type == "Number" else None


@lru_cache(maxsize=4096)
def _number(text: str) -> int | None:
    """The integer part; None for text that is not a number, or does not fit into 64 bits."""
    if not _NUMBER.fullmatch(text):
        return None
    number = float(text)
    return int(number) if abs(number) < 2.0**63 else None


@lru_cache(maxsize=4096)
def _instant(layout: str, text: str) -> float | None:
    try:
        return parse_go_time(layout, text).timestamp()
    except (ValueError, OverflowError):
        return None
