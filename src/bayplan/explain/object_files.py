"""Reads objects from files: what `kubectl get … -o yaml` or `-o json` prints, or manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml

from bayplan.explain.cluster_objects import ClusterObjects
from bayplan.model import ObjectError

#: What `bayplan capture` writes.
SNAPSHOT_KIND: Final = "ClusterSnapshot"
SNAPSHOT_VERSION: Final = "snapshot.bayplan.dev/v1"


class ObjectFileError(Exception):
    """A file that cannot be read as objects: what is wrong, where, and what would be right."""


class _TextLoader(yaml.CSafeLoader):
    """Safe YAML, with timestamps as text."""


_TextLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def read_objects(text: str, where: str) -> list[Mapping[str, Any]]:
    """The objects in *text*: JSON, or YAML documents; Lists are flattened. Raises ObjectFileError."""
    found = [each for document in _documents(text, where) for each in _flattened(document, where)]
    if not found:
        raise ObjectFileError(
            f"{where}: no objects; expected the output of kubectl get nodes,pods,… --all-namespaces -o yaml"
        )
    return found


def read_snapshot(texts: Mapping[str, str]) -> ClusterObjects:
    """The cluster in the files *texts* (name → text). Raises ObjectFileError."""
    objects = ClusterObjects("snapshot", ", ".join(texts))
    for where, text in texts.items():
        for mapping in read_objects(text, where):
            try:
                objects.add_mapping(mapping)
            except ObjectError as error:
                raise ObjectFileError(f"{where}: {error}") from error
    return objects


def _documents(text: str, where: str) -> list[Any]:
    if text.lstrip().startswith("{"):
        return _json_documents(text, where)
    try:
        return [each for each in yaml.load_all(text, Loader=_TextLoader) if each is not None]
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        detail = f"line {mark.line + 1}: {problem}" if mark is not None else str(error)
        raise ObjectFileError(f"{where}: not YAML: {detail}; was the file cut off?") from error


def _json_documents(text: str, where: str) -> list[Any]:
    try:
        return [msgspec.json.decode(text)]
    except msgspec.DecodeError as error:
        raise ObjectFileError(f"{where}: not JSON: {error}; was the file cut off?") from error


def _flattened(document: Any, where: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(document, Mapping) or not isinstance(document.get("kind"), str):
        raise ObjectFileError(f"{where}: not a Kubernetes object: it has no kind")
    if document["kind"] == SNAPSHOT_KIND:
        yield from _snapshot_items(document, where)
        return
    if not document["kind"].endswith("List") or "items" not in document:
        if not isinstance(document.get("metadata"), Mapping) or not document.get("apiVersion"):
            raise ObjectFileError(f"{where}: a {document['kind']} without apiVersion or metadata")
        yield document
        return
    items = document["items"]
    if not isinstance(items, list):
        raise ObjectFileError(f"{where}: the items of a {document['kind']} are not a list")
    # The items of a typed list (PodList) have no kind of their own.
    implied = {"apiVersion": document.get("apiVersion"), "kind": document["kind"].removesuffix("List")}
    for item in items:
        typed = item if not isinstance(item, Mapping) or item.get("kind") else {**implied, **item}
        yield from _flattened(typed, where)


def _snapshot_items(document: Mapping[str, Any], where: str) -> Iterator[Mapping[str, Any]]:
    version, items = document.get("apiVersion"), document.get("items")
    if version != SNAPSHOT_VERSION:
        raise ObjectFileError(
            f"{where}: a snapshot of the version {version!r}; this Bayplan reads {SNAPSHOT_VERSION}. Capture the "
            "cluster again, or read it with the Bayplan that wrote it"
        )
    if not isinstance(items, list):
        raise ObjectFileError(f"{where}: the items of the snapshot are not a list; was the file cut off?")
    for item in items:
        yield from _flattened(item, where)
