"""Snapshots that `bayplan capture` writes: a list of objects with a version, and what is not in it.

    apiVersion: snapshot.bayplan.dev/v1
    kind: ClusterSnapshot
    anonymous: true
    leftOut: ["2 Secrets: never captured"]
    items: […]

`object_files` reads it back, as it reads what kubectl prints.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
import yaml

from bayplan.explain.object_files import SNAPSHOT_KIND, SNAPSHOT_VERSION
from bayplan.explain.snapshots.anonymizing import anonymized
from bayplan.explain.snapshots.captured_fields import LAST_APPLIED, captured
from bayplan.model import ConfigMap, KubeObject, Pod

if TYPE_CHECKING:
    from bayplan.explain.cluster_objects import ClusterObjects

#: What is read as a whole, because nobody knows its fields, is not in an anonymous snapshot.
_NOT_ANONYMOUS: Final = "its fields are not known, so it cannot be made anonymous"


class ClusterSnapshot(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The file."""

    api_version: str = SNAPSHOT_VERSION
    kind: str = SNAPSHOT_KIND
    anonymous: bool = False
    #: What was there and is not in `items`, and why.
    left_out: tuple[str, ...] = ()
    items: tuple[dict[str, Any], ...] = ()

    def text(self, form: str) -> str:
        """As `json` or `yaml`; the fields that have their default values are written as well."""
        fields = {"apiVersion": self.api_version, "kind": self.kind, **msgspec.to_builtins(self)}
        if form == "json":
            return msgspec.json.format(msgspec.json.encode(fields), indent=1).decode() + "\n"
        text: str = yaml.dump(fields, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=120)
        return text


def make_snapshot(objects: ClusterObjects, *, anonymous: bool = False) -> ClusterSnapshot:
    """A snapshot of *objects* with what scheduling reads and nothing else."""
    left_out: Counter[tuple[str, str]] = Counter()
    items = list(_items(objects, left_out, anonymous=anonymous))
    if anonymous:
        items, _ = anonymized(items)
    notes = [f"{count} {kind}: {reason}" for (kind, reason), count in sorted(left_out.items())]
    # The reason of the server names who asked, and what for.
    notes += [
        f"{each.resource}: could not be read" + ("" if anonymous else f": {each.reason}")
        for each in objects.not_seen
    ]
    return ClusterSnapshot(anonymous=anonymous, left_out=tuple(notes), items=tuple(items))


def _items(
    objects: ClusterObjects, left_out: Counter[tuple[str, str]], *, anonymous: bool
) -> Iterator[dict[str, Any]]:
    seen: set[tuple[str, str]] = set()
    for value in (*objects, *(each for found in objects.selected.values() for each in found)):
        if not isinstance(value, KubeObject):
            continue
        if (value.KIND, value.key) in seen:
            continue
        seen.add((value.KIND, value.key))
        kept, reason = _kept(value, anonymous=anonymous)
        if kept is None:
            left_out[value.KIND, reason] += 1
        else:
            yield kept
    yield from _custom_items(objects, left_out, anonymous=anonymous)


def _kept(value: KubeObject, *, anonymous: bool) -> tuple[dict[str, Any] | None, str]:
    if isinstance(value, Pod) and value.is_terminal:
        return None, "it has ended"
    if anonymous and isinstance(value, ConfigMap):
        return None, _NOT_ANONYMOUS
    return captured(value), "never captured"


def _custom_items(
    objects: ClusterObjects, left_out: Counter[tuple[str, str]], *, anonymous: bool
) -> Iterator[dict[str, Any]]:
    """Custom resources that plugins ask for are read as a whole; other kinds of files are not read."""
    for (_, kind), by_key in objects.unknown.items():
        left_out[kind, "scheduling does not read it"] += len(by_key)
    read = [each for found in objects.custom.values() for each in found]
    read += [each for found in objects.selected.values() for each in found if isinstance(each, dict)]
    for mapping in read:
        if anonymous:
            left_out[str(mapping.get("kind")), _NOT_ANONYMOUS] += 1
        else:
            yield _without_history(mapping)


def _without_history(mapping: dict[str, Any]) -> dict[str, Any]:
    metadata = {
        field: value
        for field, value in mapping.get("metadata", {}).items()
        if field not in ("managedFields", "resourceVersion", "generation", "selfLink")
    }
    if "annotations" in metadata:
        metadata["annotations"] = {
            key: value for key, value in metadata["annotations"].items() if key != LAST_APPLIED
        }
    return {**mapping, "metadata": metadata}
