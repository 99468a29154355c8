"""Which resources a score takes into account: cpu, memory and ephemeral storage always, others if requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bayplan.model import CPU, EPHEMERAL_STORAGE, MEMORY, is_scalar_resource_name

if TYPE_CHECKING:
    from bayplan.config.args.base import ResourceSpec

#: Resources that count for every pod.
NATIVE: Final = frozenset({CPU, MEMORY, EPHEMERAL_STORAGE})


def is_scored(name: str, request: int) -> bool:
    """Whether the resource counts for a pod with this request."""
    if name in NATIVE:
        return True
    return request != 0 and is_scalar_resource_name(name)


class ScoredResources:
    """The configured resources that count for a pod; the same for almost all pods."""

    def __init__(self, resources: Sequence[ResourceSpec]) -> None:
        self._resources = resources
        self._names = tuple([each.name for each in resources])
        self._native = [each for each in resources if each.name in NATIVE]
        #: Names and weights of those that count for every pod.
        self.native = self._split(self._native)

    def requested_by(self, requests: Mapping[str, int]) -> bool:
        """Whether a pod with these *requests* requests any of the configured resources."""
        return any(map(requests.get, self._names))

    def for_pod(self, requests: Mapping[str, int]) -> tuple[Sequence[str], Sequence[int]]:
        """Names and weights of those that count for a pod with these *requests*."""
        if len(self._native) == len(self._resources):
            return self.native
        return self._split([each for each in self._resources if is_scored(each.name, requests.get(each.name, 0))])

    @staticmethod
    def _split(resources: Sequence[ResourceSpec]) -> tuple[Sequence[str], Sequence[int]]:
        return tuple([each.name for each in resources]), tuple([each.weight for each in resources])
