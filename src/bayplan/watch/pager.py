"""Listing a collection, page by page.

In: a `Source` and a path. Out: the JSON of all objects, with the resourceVersion of the list. Which version to ask
for is the reflector's choice: 0 (any version the server has cached, in one page), the last known version (nothing
older than what we have seen), or none when that version has expired.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from bayplan.client.errors import ResourceExpiredError
from bayplan.client.transport import Query

PAGE_SIZE = 500


class Source(Protocol):
    """Where lists and watches come from: `KubeClient`."""

    async def get_bytes(self, path: str, query: Query | None = None) -> bytes: ...

    def stream(
        self, path: str, query: Query | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]: ...


class Listing(msgspec.Struct):
    """The objects of a collection at one resourceVersion."""

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
    source: Source,
    path: str,
    selection: dict[str, str],
    resource_version: str,
    *,
    page_size: int = PAGE_SIZE,
    on_page: Callable[[int], None] = lambda n_items: None,
) -> Listing:
    """All objects of a collection. Raises ClientError, and msgspec.DecodeError for an answer that is no list.

    *on_page* is told after every page how many objects there are so far.
    """
    items: list[bytes] = []
    query: dict[str, str | int] = dict(selection)
    if resource_version:
        query["resourceVersion"] = resource_version
    if page_size and resource_version in ("", "0"):
        # With a version to be no older than, a limit would keep the server from answering out of its cache.
        query["limit"] = page_size
    while True:
        try:
            page = _decode_list(await source.get_bytes(path, query))
        except ResourceExpiredError:
            if "continue" not in query:
                raise
            # The pages took longer than the server remembers: list everything in one page.
            return await list_all(source, path, selection, resource_version, page_size=0, on_page=on_page)
        items += [bytes(item) for item in page.items or ()]
        on_page(len(items))
        if not page.metadata.continue_:
            return Listing(items, page.metadata.resource_version)
        query["continue"] = page.metadata.continue_
        # The token knows which version the first page was of.
        query.pop("resourceVersion", None)
