"""TaintedSlices: slices with the taints that rules add to their devices.

In: changes of slices and of DeviceTaintRules. Out: changes of tainted slices, to the index. Without
rules slices pass through as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from bayplan.model import Device, DeviceTaintRule, DeviceTaintSelector, ResourceSlice, Taint

#: Told of a slice before and after; None before it exists, and after its deletion.
SliceChanged: TypeAlias = Callable[[ResourceSlice | None, ResourceSlice | None], None]


class TaintedSlices:
    """See the module's docstring."""

    def __init__(self, slice_changed: SliceChanged, taints_changed: SliceChanged) -> None:
        """*slice_changed* is told of every change, *taints_changed* also of those that come from rules alone."""
        self._slice_changed = slice_changed
        self._taints_changed = taints_changed
        self._slices: dict[str, ResourceSlice] = {}
        self._rules: dict[str, DeviceTaintRule] = {}

    def slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """A slice was created, changed or deleted."""
        if new is not None:
            self._slices[new.name] = new
        elif old is not None:
            self._slices.pop(old.name, None)
        # Where the slice was is all that matters of the old one.
        self._slice_changed(old, None if new is None else with_taints(new, self._rules.values()))

    def rule_changed(self, old: DeviceTaintRule | None, new: DeviceTaintRule | None) -> None:
        """A rule was created, changed or deleted: slices that it concerns, or concerned, may have other taints."""
        rules = [each for each in (old, new) if each is not None]
        concerned = [each for each in self._slices.values() if any(_selects_slice(rule, each) for rule in rules)]
        before = [with_taints(each, self._rules.values()) for each in concerned]
        if new is not None:
            self._rules[new.name] = new
        elif old is not None:
            self._rules.pop(old.name, None)
        for slice_, was in zip(concerned, before, strict=True):
            now = with_taints(slice_, self._rules.values())
            if _taints(was) != _taints(now):
                self._slice_changed(was, now)
                self._taints_changed(was, now)


def with_taints(slice_: ResourceSlice, rules: Iterable[DeviceTaintRule]) -> ResourceSlice:
    """The slice with the taints of the rules after those of the devices; the same object where no rule applies."""
    matching = [rule for rule in rules if _selects_slice(rule, slice_)]
    if not matching:
        return slice_
    devices = tuple(_tainted(device, matching) for device in slice_.spec.devices)
    return replace(slice_, spec=replace(slice_.spec, devices=devices))


def _tainted(device: Device, rules: Iterable[DeviceTaintRule]) -> Device:
    added = tuple(rule.spec.taint for rule in rules if _selector(rule).device in (None, device.name))
    return replace(device, taints=device.taints + added) if added else device


def _selects_slice(rule: DeviceTaintRule, slice_: ResourceSlice) -> bool:
    if rule.spec.device_selector is None:
        return False
    selector, spec = _selector(rule), slice_.spec
    return selector.driver in (None, spec.driver) and selector.pool in (None, spec.pool.name)


def _selector(rule: DeviceTaintRule) -> DeviceTaintSelector:
    return rule.spec.device_selector or DeviceTaintSelector()


def _taints(slice_: ResourceSlice) -> list[tuple[Taint, ...]]:
    return [device.taints for device in slice_.spec.devices]
