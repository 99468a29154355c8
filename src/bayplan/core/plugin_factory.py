"""PluginFactory: makes the plugins of a profile, all of them at the start, and later those whose class was
reloaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayplan.framework import (
    Observer,
    Plugin,
    PluginError,
    ProfilePlugins,
    Registry,
    create_plugin,
    create_profile_plugins,
)
from bayplan.framework.instantiation import replace_plugin

if TYPE_CHECKING:
    from bayplan.cache.object_store import ObjectStores
    from bayplan.config import ExpandedProfile
    from bayplan.core.profile_handle import ProfileHandle
    from bayplan.framework import Handle, Registration


class PluginFactory:
    """`make`, then `adopt` what was made, or `abandon` it."""

    def __init__(self, handle: ProfileHandle, objects: ObjectStores, observer: Observer | None) -> None:
        self.handle = handle
        self._objects = objects
        self._observer = observer
        #: The plugins at work, by name.
        self._present: Mapping[str, Plugin] = {}
        #: The classes of which an instance was made since then.
        self._fresh: list[type[Plugin]] = []

    def make(self, profile: ExpandedProfile, registry: Registry) -> ProfilePlugins:
        """A plugin at work whose class is the same is taken as it is. PluginError if another cannot be made."""
        try:
            return create_profile_plugins(profile, registry, self.handle, self._observer, create=self._make)
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
                return create_plugin(registration, args, handle)
            return replace_plugin(old, registration, args, handle)

    def _owner(self, cls: type[Plugin]) -> object:
        return self.handle.profile_name, cls

    def abandon(self) -> None:
        """What was made is not used: nobody calls it any more."""
        for cls in self._fresh:
            self._objects.remove_callbacks(self._owner(cls))
        self._fresh.clear()

    def adopt(self, plugins: ProfilePlugins) -> None:
        """Make these the plugins in use. The instances that they replace get no more callbacks."""
        for name, old in self._present.items():
            if plugins.plugins.get(name) is not old:
                self._objects.remove_callbacks(self._owner(type(old)))
        if self._present:
            for cls in self._fresh:
                self._objects.replay_to(self._owner(cls))
        self._present = plugins.plugins
        self._fresh.clear()
