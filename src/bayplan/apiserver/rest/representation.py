"""Content negotiation between the Accept header and the supported formats."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from bayplan.apiserver.api_errors import StatusError

META_GROUP: Final = "meta.k8s.io"
TABLE: Final = "Table"
METADATA: Final = "PartialObjectMetadata"
METADATA_LIST: Final = "PartialObjectMetadataList"
_FORMATS: Final = {"application/json": "json", "*/*": "json", "application/yaml": "yaml"}
_VERSIONS: Final = ("v1", "v1beta1")


class Representation(NamedTuple):
    """The format of a response; `as_` is "" for whole objects."""

    as_: str = ""
    version: str = "v1"
    yaml: bool = False


@lru_cache(maxsize=256)
def negotiate(accept: str, *, streams: bool = False) -> Representation:
    """The client's first preference that is supported; a 406 if there is none.

    *streams* is set for collections, which can also be watched.
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
    """The clauses of the header, best first; equal ones in their order."""
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
