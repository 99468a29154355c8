"""The completion indexes of an indexed Job: as text, and in the rules of its success policy. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from bayplan.controllers.api_objects import Object


def format_indexes(indexes: Iterable[int]) -> str:
    """Indexes as a Job's status has them: `0,2-5,7`; a run of two is written as two."""
    runs = groupby(enumerate(sorted(indexes)), key=lambda pair: pair[1] - pair[0])
    texts = []
    for _, pairs in runs:
        run = [index for _, index in pairs]
        texts.append(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)))
    return ",".join(texts)


def parse_indexes(text: str, completions: int) -> set[int]:
    """The indexes below *completions* in a text such as `0,2-5`; empty if it cannot be read."""
    indexes: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return set()
        indexes.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return indexes


def matched_rule(job: Object, succeeded: set[int]) -> int | None:
    """The position of the first rule of the success policy that is met."""
    spec = job["spec"]
    for position, rule in enumerate((spec.get("successPolicy") or {}).get("rules") or []):
        enough, done = rule.get("succeededCount"), succeeded
        if rule.get("succeededIndexes") is not None:
            wanted = parse_indexes(rule["succeededIndexes"], spec.get("completions") or 0)
            done = succeeded & wanted
            enough = (enough if enough is not None else len(wanted)) or None
        if enough is not None and len(done) >= enough:
            return position
    return None
