"""Content negotiation: what the Accept header asks for, of what we can write."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from bayplan.apiserver.status import StatusError

META_GROUP: Final = "meta.k8s.io"
TABLE: Final = "Table"
METADATA: Final = "PartialObjectMetadata"
METADATA_LIST: Final = "PartialObjectMetadataList"
_FORMATS: Final = {"application/json": "json", "*/*": "json", "application/yaml": "yaml"}
_VERSIONS: Final = ("v1", "v1beta1")


class Representation(NamedTuple):
    """How an answer is to be written; `as_` is "" for the objects as they are."""

    as_: str = ""
    version: str = "v1"
    yaml: bool = False


@lru_cache(maxsize=256)
def negotiate(accept: str, *, streams: bool = False) -> Representation:
    """The first thing that the client prefers and we can do; a 406 if there is none.

    *streams* tells of a collection, which can be watched as well.
    """
    if not accept:
        return Representation()
    for parameters in _preferred(accept):
        chosen = _chosen(parameters)
        if chosen is not None:
            return chosen
    formats = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    if streams:
        formats += ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    message = f"406: Not Acceptable\n\nAvailable representations: {formats}"
    raise StatusError(406, "NotAcceptable", message, details={})


def _preferred(accept: str) -> Iterator[dict[str, str]]:
    """The clauses of the header with the best first; among equals in their order."""
    clauses = []
    for clause in accept.split(","):
        type_, *rest = (part.strip() for part in clause.split(";"))
        parameters = dict(part.split("=", 1) for part in rest if "=" in part)
        clauses.append({**parameters, "": type_.lower()})
    yield from sorted(clauses, key=lambda clause: -_quality(clause.get("q", "1")))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _chosen(clause: dict[str, str]) -> Representation | None:
    written = _FORMATS.get(clause[""])
    if written is None:
        return None
    as_ = clause.get("as", "")
    if not as_:
        return Representation(yaml=written == "yaml")
    if as_ not in (TABLE, METADATA, METADATA_LIST) or clause.get("g") != META_GROUP:
        return None
    if clause.get("v") not in _VERSIONS:
        return None
    return Representation(as_, clause["v"], yaml=written == "yaml")
