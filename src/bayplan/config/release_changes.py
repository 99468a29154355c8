"""What another release of Kubernetes makes of the same configuration: plugins, their order, arguments, gates."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bayplan.config.encode import encode
from bayplan.config.loading import load
from bayplan.config.problems import ConfigError

if TYPE_CHECKING:
    from bayplan.config.expand import ExpandedProfile
    from bayplan.config.loading import Loaded
    from bayplan.config.plugin_catalogue import Catalogue
    from bayplan.release import Release


def release_changes(text: str, *, source: str, older: Catalogue, newer: Catalogue) -> list[str]:
    """One line for each change; the text is a v1 configuration. Empty if the older release refuses it."""
    try:
        before = load(text, source=source, catalogue=older)
    except ConfigError:
        return []
    try:
        after = load(text, source=source, catalogue=newer)
    except ConfigError as error:
        return [f"refused: {problem}" for problem in error.problems]
    return [*_profile_changes(before, after), *gate_changes(older.release, newer.release)]


def _profile_changes(before: Loaded, after: Loaded) -> Iterator[str]:
    for old, new in zip(before.profiles, after.profiles, strict=True):
        for change in (*_point_changes(old, new), *_argument_changes(old, new)):
            yield f"profile {new.scheduler_name}: {change}"


def _point_changes(old: ExpandedProfile, new: ExpandedProfile) -> Iterator[str]:
    for point in dict.fromkeys((*old.points, *new.points)):
        names = [[each.name for each in profile.points.get(point, ())] for profile in (old, new)]
        for change in _list_changes(*names):
            yield f"{point}: {change}"


def _list_changes(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    if added := [name for name in new if name not in old]:
        yield f"{', '.join(added)} added"
    if removed := [name for name in old if name not in new]:
        yield f"{', '.join(removed)} removed"
    both = [name for name in new if name in old]
    for first, second in itertools.pairwise(both):
        if old.index(first) > old.index(second):
            yield f"{first} runs before {second}"


def _argument_changes(old: ExpandedProfile, new: ExpandedProfile) -> Iterator[str]:
    for name in sorted(old.args.keys() & new.args.keys()):
        before, after = (encode(profile.args[name]) for profile in (old, new))
        if isinstance(before, dict) and isinstance(after, dict):
            for field in dict.fromkeys((*before, *after)):
                if before.get(field) != after.get(field):
                    yield f"{name}: {field} is {_shown(after.get(field))}, was {_shown(before.get(field))}"


def _shown(value: Any) -> str:
    return "not there" if value is None else json.dumps(value)


def gate_changes(older: Release, newer: Release) -> Iterator[str]:
    """The gates that kube-scheduler reads and whose default is another one, or that are gone."""
    for name in sorted(older.scheduler_gates | newer.scheduler_gates):
        if name not in newer.gates:
            yield f"feature gate {name}: removed, it was {_on(older.is_enabled(name))}"
        elif older.is_enabled(name) != newer.is_enabled(name):
            yield f"feature gate {name}: {_on(newer.is_enabled(name))}, was {_on(older.is_enabled(name))}"


def _on(enabled: bool) -> str:
    return "on" if enabled else "off"
