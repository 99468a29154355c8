"""What pods of one template have in common, kept once: containers, tolerations and labels.

That is half of what a decoded pod takes, and equal parts that are the same object are compared in no time.
"""

from typing import Any, Final

import msgspec
from msgspec.structs import force_setattr

from bayplan.model.meta import ObjectMeta
from bayplan.model.pod_spec import PodSpec

#: More templates than most clusters have; beyond, it begins anew.
MAX_PARTS: Final = 8192

_encode: Final = msgspec.msgpack.Encoder().encode


class SharedParts:
    """The values that one field has had, by what they are in bytes."""

    def __init__(self, field: str) -> None:
        self._field = field
        self._known: dict[bytes, Any] = {}

    def share(self, owner: msgspec.Struct) -> None:
        """Let *owner*, which nobody else has seen yet, have the value that equal owners have."""
        value = getattr(owner, self._field)
        if not value:
            return
        key = _encode(value)
        known = self._known.get(key)
        if known is not None:
            force_setattr(owner, self._field, known)
            return
        if len(self._known) >= MAX_PARTS:
            self._known.clear()
        self._known[key] = value


_containers = SharedParts("containers")
_tolerations = SharedParts("tolerations")
_labels = SharedParts("labels")


def share_parts(metadata: ObjectMeta, spec: PodSpec) -> None:
    """Of a pod that was just decoded."""
    _containers.share(spec)
    _tolerations.share(spec)
    _labels.share(metadata)
