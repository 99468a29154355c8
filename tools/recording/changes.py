"""What changed between two releases, as a report in Markdown: how many lines are identical, and what differs.

The same change in many lines is told once, with how often it was seen: names of nodes and numbers are left out,
and of a text only the words that changed are shown.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tools.recording.comparable import comparable, comparable_steps, comparable_surface, is_tie, same_way

#: Changes of one group that are shown.
SHOWN = 40
_TEXTS = frozenset({"message", "unschedulable", "note", "errors", "verbose", "warnings"})
#: Keys below which each entry has the name of a pod or of a profile.
_NAMED = frozenset({"pods", "expanded", "claims_after"})
_STEPPED = ("decision", "claims")


class Change(NamedTuple):
    """One kind of change: the group that it is reported in, and what it is."""

    group: str
    text: str


@dataclass
class Comparison:
    """The lines of one kind in both releases."""

    kind: str
    n_lines: int = 0
    n_identical: int = 0
    #: Lines that did not come out the same when they were recorded twice.
    left_out: list[str] = field(default_factory=list)
    changes: Counter[Change] = field(default_factory=Counter)

    def add(self, found: Sequence[Change]) -> None:
        self.n_lines += 1
        self.n_identical += not found
        self.changes.update(set(found))


def line_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """What differs in the results of a line; nothing if that is left to chance."""
    if before["kind"] in _STEPPED:
        return list(_step_changes(comparable_steps(before), comparable_steps(after)))
    return list(changes_between(comparable(before), comparable(after)))


def _step_changes(before: Sequence[Any], after: Sequence[Any]) -> Iterator[Change]:
    """Step by step, for as long as both go the same way: later steps start from different clusters."""
    for old, new in zip(before, after, strict=False):
        if same_way(old, new):
            yield from changes_between(old, new)
            continue
        hidden = ("node", "claims_after") if _is_chance(old, new) else ("claims_after",)
        yield from changes_between(_without(old, hidden), _without(new, hidden))
        return


def _is_chance(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether each could have ended where the other did."""
    return is_tie(before, after.get("node")) and is_tie(after, before.get("node"))


def _without(step: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: value for key, value in step.items() if key not in keys}


def surface_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Comparison:
    """Metric by metric, flag by flag, and so on."""
    compared = Comparison("surface")
    old, new = comparable_surface(before), comparable_surface(after)
    for part in sorted(old.keys() | new.keys()):
        sides = (old.get(part, {}), new.get(part, {}))
        for name in sorted(sides[0].keys() | sides[1].keys()):
            compared.add(list(changes_between(sides[0].get(name), sides[1].get(name), (part, name))))
    return compared


# --- what differs -------------------------------------------------------------------------------------------


def changes_between(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[Change]:
    """Of two values of JSON."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from changes_between(before.get(key), after.get(key), (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        yield from _list_changes(before, after, path)
    else:
        yield _change(before, after, path)


def _list_changes(before: list[Any], after: list[Any], path: tuple[str, ...]) -> Iterator[Change]:
    names = [[_name(each) for each in side] for side in (before, after)]
    if all(None not in side for side in names):
        yield from _named_changes(names[0], names[1], path)
        by_name = [dict(zip(side, items, strict=True)) for side, items in zip(names, (before, after), strict=True)]
        for name in sorted(by_name[0].keys() & by_name[1].keys(), key=str):
            yield from changes_between(by_name[0][name], by_name[1][name], (*path, str(name)))
    elif len(before) == len(after):
        for old, new in zip(before, after, strict=True):
            yield from changes_between(old, new, (*path, "[]"))
    else:
        yield _change(before, after, path)


def _name(item: Any) -> str | None:
    """What an entry is known by: plugins have names, and labels are texts."""
    if isinstance(item, dict):
        name = item.get("name")
        return name if isinstance(name, str) else None
    return item if isinstance(item, str) and " " not in item else None


def _named_changes(before: list[Any], after: list[Any], path: tuple[str, ...]) -> Iterator[Change]:
    for name in sorted(set(before) - set(after)):
        yield Change(_group(path), f"`{_place(path)}`: {name} removed")
    for name in sorted(set(after) - set(before)):
        yield Change(_group(path), f"`{_place(path)}`: {name} added")
    kept = [[name for name in side if name in set(before) & set(after)] for side in (before, after)]
    if kept[0] != kept[1]:
        yield Change("order", f"`{_place(path)}`: {_moved(kept[0], kept[1])}")


def _moved(before: list[Any], after: list[Any]) -> str:
    """The first that stands elsewhere."""
    old, new = next((pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]), ("", ""))
    return f"{new} before {old}"


def _change(before: Any, after: Any, path: tuple[str, ...]) -> Change:
    group, place = _group(path), _place(path)
    if group == "scores":
        return Change(group, f"{_scorer(path)}: {_scored(before, after)}")
    if isinstance(before, str) and isinstance(after, str):
        old, new = _other_words(before, after)
        return Change(group, f"`{place}`: {old} → {new}" if old != new else f"`{place}`: another one")
    return Change(group, f"`{place}`: {_shape(before)} → {_shape(after)}")


def _scorer(path: tuple[str, ...]) -> str:
    """The plugin; a node that is feasible in one release only has no scores in the other."""
    below = path[path.index("scores") + 1 :]
    return below[1] if len(below) > 1 else "a node" if below else "all nodes"


def _scored(before: Any, after: Any) -> str:
    if before is None:
        return "absent → scored"
    return "scored → absent" if after is None else "another score"


def _other_words(before: str, after: str) -> tuple[str, str]:
    """The words between what both texts begin and end with."""
    old, new = _anonymous(before).split(), _anonymous(after).split()
    start = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))))
    pairs = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
    end = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return tuple(_quoted(" ".join(words[start : len(words) - end])) for words in (old, new))  # type: ignore[return-value]


def _shape(value: Any) -> str:
    if value is None:
        return "absent"
    return _quoted(_anonymous(value if isinstance(value, str) else json.dumps(value, sort_keys=True)))


def _anonymous(text: str) -> str:
    """Without names of nodes and pods, and numbers."""
    return re.sub(r"\d+", "#", re.sub(r"\b[a-z]+-?\d+\b", "*", text))


def _quoted(text: str) -> str:
    return f"`{text[:160]}`" if text else "nothing"


def _place(path: Sequence[str]) -> str:
    """Where it is, whatever the pod or the profile is called."""
    above = ("", *path)
    return ".".join("*" if above[i] in _NAMED else _anonymous(name) for i, name in enumerate(path))


def _group(path: Sequence[str]) -> str:
    """The heading of a change."""
    if "scores" in path:
        return "scores"
    if _TEXTS & set(path):
        return "texts"
    if "expanded" in path:
        return "plugins"
    if "claims_after" in path:
        return "allocations"
    if "effective" in path:
        return "configuration"
    if path and path[0] in ("metrics", "flags", "events", "endpoints", "pod_status", "requests"):
        return path[0].replace("_", " ")
    return "results"


# --- the report ---------------------------------------------------------------------------------------------


def report(release: str, since: str, compared: Sequence[Comparison]) -> str:
    """In Markdown."""
    lines = [
        f"# What {release} changes since {since}",
        "",
        "| recorded | lines | identical | differ | left out |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for each in compared:
        differ = each.n_lines - each.n_identical
        lines.append(f"| {each.kind} | {each.n_lines} | {each.n_identical} | {differ} | {len(each.left_out)} |")
    lines += ["", "Left out: lines that did not come out the same when they were recorded twice.", ""]
    for each in compared:
        lines += _section(each)
    return "\n".join(lines)


def _section(compared: Comparison) -> Iterator[str]:
    yield f"## {compared.kind}: {compared.n_identical} of {compared.n_lines} identical"
    yield ""
    for group in sorted({change.group for change in compared.changes}):
        found = [(change, count) for change, count in compared.changes.items() if change.group == group]
        found.sort(key=lambda each: (-each[1], each[0].text))
        yield f"### {group[:1].upper()}{group[1:]}"
        yield ""
        yield from (f"- {count} × {change.text}" for change, count in found[:SHOWN])
        if len(found) > SHOWN:
            yield f"- … and {len(found) - SHOWN} more"
        yield ""
    if compared.left_out:
        yield f"Left out: {', '.join(compared.left_out)}."
        yield ""
