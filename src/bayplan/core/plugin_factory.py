"""PluginFactory: makes the plugins of a profile, all of them at the start, and later those whose class was
reloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayplan.core.plugin_scope import PluginScope
from bayplan.framework import (
    Observer,
    Plugin,
    PluginError,
    ProfilePlugins,
    Registry,
    Resource,
    create_plugin,
    create_profile_plugins,
    registered_events,
)
from bayplan.framework.instantiation import replace_plugin
from bayplan.framework.object_selection import named_resource

if TYPE_CHECKING:
    from bayplan.cache.object_store import ObjectStores
    from bayplan.config import ExpandedProfile
    from bayplan.core.background_work import BackgroundRunner
    from bayplan.core.profile_handle import ProfileHandle
    from bayplan.framework import Handle, Registration


class PluginFactory:
    """`make`, then `adopt` what was made, or `abandon` it."""

    def __init__(
        self,
        handle: ProfileHandle,
        objects: ObjectStores,
        background: BackgroundRunner,
        observer: Observer | None,
    ) -> None:
        self.handle = handle
        self._objects = objects
        self._background = background
        self._observer = observer
        #: The plugins at work, by name, and what each of them has asked for.
        self._present: Mapping[str, Plugin] = {}
        self._scopes: dict[type[Plugin], PluginScope] = {}
        #: The classes of which an instance was made since then, with what it has asked for, and the instances.
        self._fresh: dict[type[Plugin], PluginScope] = {}
        self._made: list[Plugin] = []

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
        scope = self._fresh[cls] = PluginScope(cls.name, self._objects, self._background, cls)
        own = self.handle.of_plugin(scope)
        if old is None:
            made = create_plugin(registration, args, own)
        else:
            made = replace_plugin(old, registration, args, own)
        self._made.append(made)
        self._watch_registered(made)
        return made

    def _watch_registered(self, plugin: Plugin) -> None:
        """A resource whose events retry pods is watched, even if no plugin reads its objects."""
        for event in registered_events(plugin) or ():
            selection = None if isinstance(event.resource, Resource) else named_resource(event.resource)
            if selection is not None and not self._objects.is_watched(selection):
                self._objects.selected(selection)

    def abandon(self) -> None:
        """What was made is not used: nobody calls it any more."""
        for scope in self._fresh.values():
            scope.end()
        for plugin in self._made:
            self._background.close_plugin(plugin, lambda: False)
        self._fresh.clear()
        self._made.clear()

    def adopt(self, plugins: ProfilePlugins) -> Sequence[Plugin]:
        """Make these the plugins in use. The instances that they replace, which are returned, get no more
        callbacks, and their background work ends."""
        replaced = [old for name, old in self._present.items() if plugins.plugins.get(name) is not old]
        for old in replaced:
            self._scopes.pop(type(old)).end()
        for scope in self._fresh.values():
            if self._present:
                self._objects.replay_to(scope)
            scope.is_adopted = True
        self._scopes |= self._fresh
        self._present = plugins.plugins
        self._fresh.clear()
        self._made.clear()
        return replaced

    def close(self) -> None:
        """The scheduler ends: so does what plugins run in the background; then the plugins are closed."""
        for scope in self._scopes.values():
            scope.end()
        for plugin in self._present.values():
            self._background.close_plugin(plugin, lambda: False)
        self._present, self._scopes = {}, {}
