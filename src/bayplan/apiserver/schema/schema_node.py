"""SchemaNode: what patches and server-side apply need to know about the type of a value; `schemas` implements it.

Both read the published OpenAPI schemas, but different extensions: strategic merge patch reads
`x-kubernetes-patch-strategy` and `-patch-merge-key`, apply reads `x-kubernetes-list-type`, `-list-map-keys` and
`-map-type`. Extensions of a property belong to the node that `child` returns for it, whatever type it refers to.
"""

from __future__ import annotations

from typing import Any, Protocol


class SchemaNode(Protocol):
    """The type of one value in its context."""

    @property
    def kind(self) -> str:
        """`object`, `array`, `string`, `integer`, `number`, `boolean`; empty where any value is allowed.

        Quantities, times and int-or-strings are strings in OpenAPI, but apply takes any scalar there: they are
        `scalar`.
        """

    def child(self, field: str) -> SchemaNode | None:
        """The type of a struct field or of a map value; None if there can be no such field."""

    def declares(self, field: str) -> bool:
        """Whether this is a struct with that field, and not a map with that key."""

    def item(self) -> SchemaNode:
        """The type of the list's elements."""

    @property
    def patch_strategy(self) -> str:
        """Empty, `merge`, `replace`, `retainKeys` or `merge,retainKeys`."""

    @property
    def merge_key(self) -> str:
        """The field that identifies elements of a merged list; empty for lists of scalars."""

    @property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`. Without an extension: by the patch strategy, else `atomic`."""

    @property
    def list_map_keys(self) -> tuple[str, ...]:
        """For a `map` list: the fields that identify elements."""

    @property
    def is_atomic(self) -> bool:
        """Whether the map or list has one owner: its parts are never merged."""

    @property
    def default(self) -> Any:
        """The default of a field (a key of a `map` list may be missing); None if there is none."""
