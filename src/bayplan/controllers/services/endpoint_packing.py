"""Which slice an endpoint is in. Pure: slices as they are go in, slices as they should be come out.

As in kube-controller-manager, an endpoint stays in its slice, and new ones go where there is room. So a Service
that grows to 10,000 pods writes its last slices, not all of them at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

#: kube-controller-manager's limit of endpoints per slice.
PER_SLICE: Final = 100


def pack_endpoints(
    known: Mapping[str, Iterable[str]], wanted: Iterable[str], name_of: Callable[[int], str]
) -> dict[str, list[str]]:
    """Slice → uids of pods. *known* are the slices as they are; *name_of* names new ones by number.

    A slice without endpoints is left out, but for one: a Service always has a slice.
    """
    unplaced = dict.fromkeys(wanted)
    slices: dict[str, list[str]] = {}
    for name in sorted(known):
        slices[name] = [uid for uid in known[name] if uid in unplaced]
        for uid in slices[name]:
            del unplaced[uid]
    waiting = iter(unplaced)
    for uids in slices.values():
        _fill(uids, waiting)
    filled = {name: uids for name, uids in slices.items() if uids}
    while rest := _fill([], waiting):
        filled[_free_name(filled, name_of)] = rest
    if not filled:
        filled[min(known, default=name_of(0))] = []
    return filled


def _fill(uids: list[str], waiting: Iterable[str]) -> list[str]:
    """Add endpoints that wait for a slice, as far as there is room."""
    for _, uid in zip(range(PER_SLICE - len(uids)), waiting, strict=False):
        uids.append(uid)
    return uids


def _free_name(taken: Mapping[str, object], name_of: Callable[[int], str]) -> str:
    number = 0
    while (name := name_of(number)) in taken:
        number += 1
    return name
