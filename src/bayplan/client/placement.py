"""As much of a pod as tells where it is."""

from __future__ import annotations

import msgspec


class _Meta(msgspec.Struct):
    uid: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class Placement(msgspec.Struct):
    """Which pod, and on which node."""

    metadata: _Meta
    spec: _Spec


def read_placement(data: bytes) -> Placement:
    """Of a pod in JSON."""
    return msgspec.json.decode(data, type=Placement)
