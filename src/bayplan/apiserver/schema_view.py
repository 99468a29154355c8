"""What patches and server-side apply ask about the type of a value; `schemas` answers.

The two have the same source, the published OpenAPI schemas, but read different marks: strategic merge patch reads
`x-kubernetes-patch-strategy` and `-patch-merge-key`, apply reads `x-kubernetes-list-type`, `-list-map-keys` and
`-map-type`. Marks of a property belong to the node that `child` returns for it, whatever type it refers to.
"""

from __future__ import annotations

from typing import Any, Protocol


class SchemaNode(Protocol):
    """The type of one value, as seen from where it stands."""

    @property
    def kind(self) -> str:
        """`object`, `array`, `string`, `integer`, `number`, `boolean`; empty where any value may stand.

        Quantities, times and int-or-strings are strings to OpenAPI, but apply takes any scalar there: they are
        `scalar`.
        """

    def child(self, field: str) -> SchemaNode | None:
        """The type of a field of a struct or of a value of a map; None if there can be no such field."""

    def declares(self, field: str) -> bool:
        """Whether it is a struct and the field one of its own, and not just a key of a map."""

    def item(self) -> SchemaNode:
        """The type of a list's elements."""

    @property
    def patch_strategy(self) -> str:
        """Empty, `merge`, `replace`, `retainKeys` or `merge,retainKeys`."""

    @property
    def merge_key(self) -> str:
        """The field that tells elements of a merged list apart; empty for lists of scalars."""

    @property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`. Where the schema does not say: by the patch strategy, else `atomic`."""

    @property
    def list_map_keys(self) -> tuple[str, ...]:
        """Of a `map` list: the fields that tell elements apart."""

    @property
    def is_atomic(self) -> bool:
        """Whether the map or list has one owner: its parts are never merged."""

    @property
    def default(self) -> Any:
        """What a field is if it is left out (a key of a `map` list may be); None if there is no default."""
