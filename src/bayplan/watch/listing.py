"""Listing a collection, page by page.

As a reflector does: resourceVersion 0 (whatever the server has at hand, which it gives in one piece), the last
known version on a later list (nothing older than what we have seen), none at all when that is no longer known.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from bayplan.client.errors import ExpiredError
from bayplan.client.transport import Query

PAGE_SIZE = 500


class Source(Protocol):
    """Where lists and watches come from: `KubeClient`."""

    async def get_bytes(self, path: str, query: Query | None = None) -> bytes: ...

    def stream(
        self, path: str, query: Query | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]: ...


class Listing(msgspec.Struct):
    """A collection as it was at one time."""

    items: list[bytes]
    resource_version: str


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct):
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)
    items: list[msgspec.Raw] | None = None


_decode_list = msgspec.json.Decoder(_List).decode


async def list_all(
    source: Source, path: str, selectors: dict[str, str], resource_version: str, *, page_size: int = PAGE_SIZE
) -> Listing:
    """All objects of a collection. Raises ClientError, and msgspec.DecodeError for an answer that is no list."""
    items: list[bytes] = []
    query: dict[str, str | int] = dict(selectors)
    if resource_version:
        query["resourceVersion"] = resource_version
    if page_size and resource_version in ("", "0"):
        # With a version to be no older than, a limit would keep the server from answering out of its cache.
        query["limit"] = page_size
    while True:
        try:
            page = _decode_list(await source.get_bytes(path, query))
        except ExpiredError:
            if "continue" not in query:
                raise
            # The pages took longer than the server remembers: all of it at once.
            return await list_all(source, path, selectors, resource_version, page_size=0)
        items += [bytes(item) for item in page.items or ()]
        if not page.metadata.continue_:
            return Listing(items, page.metadata.resource_version)
        query["continue"] = page.metadata.continue_
        # The token knows which version the first page was of.
        query.pop("resourceVersion", None)
