"""Making the plugins of a profile: all of them at the start, and later those whose class was loaded anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayplan.framework import Observer, Plugin, PluginError, ProfilePlugins, Registry, construct, construct_profile
from bayplan.framework.construct import replace

if TYPE_CHECKING:
    from bayplan.cache.objects import Objects
    from bayplan.config import Profile
    from bayplan.cycle.handle import ProfileHandle
    from bayplan.framework import Handle, Registration


class Making:
    """`make`, then `adopt` what was made, or `abandon` it."""

    def __init__(self, handle: ProfileHandle, objects: Objects, observer: Observer | None) -> None:
        self.handle = handle
        self._objects = objects
        self._observer = observer
        #: The plugins at work, by name.
        self._present: Mapping[str, Plugin] = {}
        #: The classes of which an instance was made since then.
        self._fresh: list[type[Plugin]] = []

    def make(self, profile: Profile, registry: Registry) -> ProfilePlugins:
        """A plugin at work whose class is the same is taken as it is. PluginError if another cannot be made."""
        try:
            return construct_profile(profile, registry, self.handle, self._observer, make=self._make)
        except PluginError:
            self.abandon()
            raise

    def _make(self, registration: Registration, args: Any, handle: Handle) -> Plugin:
        cls = registration.plugin
        old = self._present.get(cls.name)
        if type(old) is cls:
            return old
        self._fresh.append(cls)
        with self._objects.owned_by(self._owner(cls)):
            if old is None:
                return construct(registration, args, handle)
            return replace(old, registration, args, handle)

    def _owner(self, cls: type[Plugin]) -> object:
        return self.handle.profile_name, cls

    def abandon(self) -> None:
        """What was made is not used: nobody calls it any more."""
        for cls in self._fresh:
            self._objects.disown(self._owner(cls))
        self._fresh.clear()

    def adopt(self, plugins: ProfilePlugins) -> None:
        """These are at work from now on. Those that they replace hear no more of the cluster."""
        for name, old in self._present.items():
            if plugins.plugins.get(name) is not old:
                self._objects.disown(self._owner(type(old)))
        if self._present:
            for cls in self._fresh:
                self._objects.tell_all(self._owner(cls))
        self._present = plugins.plugins
        self._fresh.clear()
