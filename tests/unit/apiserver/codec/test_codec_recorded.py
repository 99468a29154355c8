"""The codec produces what Go produces for objects of every kind, as recorded with `tools/go-forms`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.codec import Codecs
from bayplan.apiserver.schema.schemas import published
from bayplan.release import release_named

_FILE = Path(__file__).with_name("recorded.jsonl.gz")
#: The objects were recorded with this release.
_CODECS = Codecs(published(release_named("1.36")))


def _lines() -> Iterator[dict[str, Any]]:
    with gzip.open(_FILE) as file:
        yield from map(json.loads, file)


def _by_kind() -> dict[str, list[dict[str, Any]]]:
    kinds: dict[str, list[dict[str, Any]]] = {}
    for line in _lines():
        kinds.setdefault(f"{line['given']['apiVersion']} {line['given']['kind']}", []).append(line)
    return kinds


_KINDS = _by_kind()


@pytest.mark.parametrize("kind", _KINDS)
def test_objects_come_out_as_from_go(kind: str) -> None:
    """Zero values, empties, nulls, quantities, times: what Go writes after reading and storing an object."""
    for line in _KINDS[kind]:
        given, codec = line["given"], _CODECS.of_kind(*kind.split())
        if "error" in line:
            with pytest.raises(StatusError) as refused:
                codec.decode(given)
            assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
            continue
        decoded = codec.decode(given, collect_unknown=True)
        assert decoded.obj == line["obj"]
        assert sorted(decoded.unknown) == sorted(line.get("unknown", ()))


@pytest.mark.parametrize("kind", _KINDS)
def test_decoded_objects_decode_unchanged(kind: str) -> None:
    """A response of the server, sent back, is the same object."""
    for line in _KINDS[kind]:
        if "obj" in line:
            again = _CODECS.of_kind(*kind.split()).decode(line["obj"], collect_unknown=True)
            assert again == (line["obj"], [])
