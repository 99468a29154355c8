"""Informers: the objects of the cluster besides those that a plugin is called with, kept up to date by watches.

Whatever a plugin asks for in its constructor is watched from the start, and is there before the first pod is
tried. What it asks for later is watched from then on. When a saved file replaces the plugin, its callbacks and
indexes end with it. `bayplan manifests` gives the scheduler the permission to list and watch exactly what plugins
ask for.

**Kinds.** A class of `bayplan.model` (`ConfigMap`, `Secret`, `Pod`, …), or one of your own that derives from
`KubeObject` and sets `KIND`, `API_VERSION` and `PLURAL`: its objects are typed. Any other resource by name, as
`plural.version.group`: `"foos.v1.example.com"`; its objects are read-only dictionaries.

**Selectors.** *namespace*, *labels* (`"app=web,tier in (a,b)"`) and *fields* (`"metadata.name=limits"`) select
on the server: the rest is neither sent nor stored, and no permission for it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, overload

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: `callback(old, new)`: old is None on creation, new on deletion.
ChangeCallback: TypeAlias = Callable[[T | None, T | None], None]
#: The values that an object is found by in an index; none, or None, to leave it out.
IndexKeys: TypeAlias = Callable[[T], Iterable[str] | str | None]
Custom: TypeAlias = dict[str, Any]


class Lister(Protocol[T_co]):
    """Read access to objects of one kind."""

    def get(self, name: str, namespace: str = "") -> T_co | None: ...

    def list(self, namespace: str | None = None) -> Sequence[T_co]: ...


class Index(Protocol[T_co]):
    """Objects of one kind by something that is in them: looked up, not searched for."""

    def get(self, value: str) -> Sequence[T_co]:
        """The objects that have *value* among their keys."""

    def values(self) -> Collection[str]:
        """The values that some object has."""


class Informers(Protocol):
    """See the module's docstring."""

    @overload
    def lister(self, kind: type[T], *, namespace: str = "", labels: str = "", fields: str = "") -> Lister[T]: ...

    @overload
    def lister(self, kind: str, *, namespace: str = "", labels: str = "", fields: str = "") -> Lister[Custom]: ...

    def lister(self, kind: Any, *, namespace: str = "", labels: str = "", fields: str = "") -> Lister[Any]:
        """The objects of a kind: `lister(StorageClass)`, `lister(Secret, namespace="ci", labels="app=web")`."""

    def custom(self, api_version: str, plural: str) -> Lister[Custom]:
        """The same as `lister("foos.v1.example.com")`: `custom("example.com/v1", "foos")`."""

    @overload
    def on_change(
        self,
        kind: type[T],
        callback: ChangeCallback[T],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
    ) -> None: ...

    @overload
    def on_change(
        self,
        kind: str,
        callback: ChangeCallback[Custom],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
    ) -> None: ...

    def on_change(
        self, kind: Any, callback: Any, *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> None:
        """Call *callback(old, new)* for every object, and on every change: old is None on creation, new on
        deletion. An object that no longer matches the selectors counts as deleted. A callback that raises is named
        in the log with its plugin; the change takes effect all the same."""

    @overload
    def index(
        self, kind: type[T], keys: IndexKeys[T], *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> Index[T]: ...

    @overload
    def index(
        self, kind: str, keys: IndexKeys[Custom], *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> Index[Custom]: ...

    def index(
        self, kind: Any, keys: Any, *, namespace: str = "", labels: str = "", fields: str = ""
    ) -> Index[Any]:
        """The objects of a kind by what *keys(object)* gives:
        `index(Pod, lambda pod: pod.labels.get("team"))`, then `.get("blue")`."""
