"""Kinds by apiVersion and kind, and their paths in the API."""

from typing import Any

import pytest

from bayplan.model import KINDS, Node, ObjectError, Pod, decode_object, kind_of


def test_kinds_are_found_by_name() -> None:
    """apiVersion and kind lead to the type; a kind tells where the API keeps its objects."""
    pod = decode_object({"apiVersion": "v1", "kind": "Pod"})
    kind = KINDS["storage.k8s.io/v1", "CSIStorageCapacity"]

    assert isinstance(pod, Pod)
    assert (kind.plural, kind.namespaced) == ("csistoragecapacities", True)
    assert kind.path == "/apis/storage.k8s.io/v1/csistoragecapacities"
    assert kind_of(Node).path == "/api/v1/nodes"


def test_unknown_kinds_are_refused() -> None:
    """A kind that we do not know is an error, not a guess."""
    with pytest.raises(ObjectError, match="unknown kind 'Widget' of apiVersion 'v1'"):
        decode_object({"apiVersion": "v1", "kind": "Widget"})


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_kind_decodes_from_nothing(kind: Any) -> None:
    """All fields of all kinds have a zero value."""
    assert kind.type.from_json(b"{}") == kind.type()
