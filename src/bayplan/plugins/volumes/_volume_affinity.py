"""The node affinity and the capacity of persistent volumes, in the form that matching needs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from bayplan.model import (
    LazyErrorNodeSelector,
    NodeSelector,
    NodeTerm,
    Quantity,
    QuantityError,
    compile_node_selector,
)
from bayplan.model.quantity import parse_nano

if TYPE_CHECKING:
    from bayplan.model import PersistentVolume, QuantityText


def volume_affinity(volume: PersistentVolume) -> LazyErrorNodeSelector | None:
    """The nodes on which the volume is available; None for all."""
    affinity = volume.spec.node_affinity
    return compile_affinity(affinity.required if affinity is not None else None)


@lru_cache(maxsize=16384)
def compile_affinity(required: NodeSelector | None) -> LazyErrorNodeSelector | None:
    """Compile a volume's node affinity. Only labels count: Kubernetes checks it against a node without a name."""
    if required is None:
        return None
    terms = compile_node_selector(required).terms
    return LazyErrorNodeSelector(tuple(NodeTerm(term.labels, errors=term.errors) for term in terms))


def single_label(affinity: LazyErrorNodeSelector | None) -> tuple[str, frozenset[str]] | None:
    """Key and values of an affinity that only requires one label to have one of some values."""
    if affinity is None or len(affinity.terms) != 1 or affinity.terms[0].errors:
        return None
    requirements = affinity.terms[0].labels.requirements
    if not requirements or len(requirements) != 1 or requirements[0].operator != "In":
        return None
    return requirements[0].key, requirements[0].values


def storage_amount(amounts: Mapping[str, QuantityText]) -> float:
    """The `storage` in requests or capacities, in nano-units; an int, or infinite if it is too large."""
    return _amount(amounts.get("storage"))


@lru_cache(maxsize=4096, typed=True)
def _amount(text: QuantityText | None) -> float:
    try:
        exact = parse_nano(text)
        if exact is not None:
            return exact
        return math.inf if Quantity.parse(text).sign > 0 else -math.inf
    except QuantityError:
        return -math.inf  # too small for any request
