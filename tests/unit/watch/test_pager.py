"""Lists, page by page."""

import pytest
from tests.unit.watch.doubles import ScriptedSource, listing, node

from bayplan.client.errors import ResourceExpiredError
from bayplan.watch.pager import list_all

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def test_pages_are_put_together() -> None:
    source = ScriptedSource()
    source.lists = [
        listing(5, node("a", 1), more="t1"),
        listing(5, node("b", 2), more="t2"),
        listing(5, node("c", 3)),
    ]
    found = await list_all(source, "/api/v1/nodes", {"fieldSelector": "x=y"}, "0")
    assert (len(found.items), found.resource_version) == (3, "5")
    assert [query for _, _, query in source.asked] == [
        {"fieldSelector": "x=y", "resourceVersion": "0", "limit": 500},
        {"fieldSelector": "x=y", "limit": 500, "continue": "t1"},
        {"fieldSelector": "x=y", "limit": 500, "continue": "t2"},
    ]


async def test_a_known_version_is_not_paged() -> None:
    source = ScriptedSource()
    source.lists = [listing(9)]
    await list_all(source, "/x", {}, "7")
    assert source.asked[0][2] == {"resourceVersion": "7"}


async def test_an_expired_page_lists_all_at_once() -> None:
    source = ScriptedSource()
    source.lists = [
        listing(5, node("a", 1), more="t1"),
        ResourceExpiredError(410),
        listing(8, node("a", 1), node("b", 6)),
    ]
    found = await list_all(source, "/x", {}, "0")
    assert (len(found.items), found.resource_version) == (2, "8")
    assert source.asked[2][2] == {"resourceVersion": "0"}


async def test_an_expired_list_is_for_the_caller() -> None:
    source = ScriptedSource()
    source.lists = [ResourceExpiredError(410)]
    with pytest.raises(ResourceExpiredError):
        await list_all(source, "/x", {}, "7")


async def test_null_items_are_none() -> None:
    source = ScriptedSource()
    source.lists = [b'{"metadata":{"resourceVersion":"3"},"items":null}']
    assert (await list_all(source, "/x", {}, "0")).items == []
