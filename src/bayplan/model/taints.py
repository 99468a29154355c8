"""Taints of nodes and tolerations of pods: which taint a toleration tolerates, which taint is untolerated."""

import re
from collections.abc import Collection, Iterable

from bayplan.model.kube_object import ApiStruct

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"

#: The effects that keep a pod off a node; PreferNoSchedule only lowers the score.
DO_NOT_SCHEDULE_EFFECTS = frozenset({NO_SCHEDULE, NO_EXECUTE})

#: Canonical integers: no plus sign, no leading zeros, no minus zero.
_CANONICAL_INTEGER = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_INT64 = range(-(2**63), 2**63)


class Taint(ApiStruct, frozen=True, kw_only=True):
    """A taint of a node: its effect applies to pods that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None

    def __str__(self) -> str:
        """`key=value:effect` without the empty parts, as kubectl writes it."""
        head = f"{self.key}={self.value}" if self.value else self.key
        return f"{head}:{self.effect}" if self.effect else head


class Toleration(ApiStruct, frozen=True, kw_only=True):
    """What a pod tolerates; an empty key or effect matches all."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


def tolerates(toleration: Toleration, taint: Taint, *, comparison_operators: bool = False) -> bool:
    """Whether the toleration tolerates the taint.

    `comparison_operators` is the gate TaintTolerationComparisonOperators, off by default: without it a
    toleration with Lt or Gt tolerates nothing. An empty key with operator Equal compares values of any key.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt" | "Gt" if comparison_operators:
            return _compares(toleration, taint)
    return False


def tolerates_any(tolerations: Iterable[Toleration], taint: Taint, *, comparison_operators: bool = False) -> bool:
    """Whether one of the tolerations tolerates the taint."""
    return any(tolerates(each, taint, comparison_operators=comparison_operators) for each in tolerations)


def find_untolerated(
    taints: Iterable[Taint],
    tolerations: Iterable[Toleration],
    effects: Collection[str] = DO_NOT_SCHEDULE_EFFECTS,
    *,
    comparison_operators: bool = False,
) -> Taint | None:
    """The first taint with one of the effects that no toleration tolerates, in the order of the node's taints."""
    tolerations = tuple(tolerations)
    for taint in taints:
        if taint.effect in effects and not tolerates_any(
            tolerations, taint, comparison_operators=comparison_operators
        ):
            return taint
    return None


def _compares(toleration: Toleration, taint: Taint) -> bool:
    """Lt: the taint's number is below the toleration's; Gt: above. False unless both are canonical integers."""
    wanted, actual = _integer(toleration.value), _integer(taint.value)
    if wanted is None or actual is None:
        return False
    return actual < wanted if toleration.operator == "Lt" else actual > wanted


def _integer(text: str) -> int | None:
    if len(text) > 20 or not _CANONICAL_INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None
