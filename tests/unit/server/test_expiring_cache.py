"""The cache with expiring entries is bounded and forgets values in time."""

from __future__ import annotations

from bayplan.server.expiring_cache import MAX_ENTRIES, ExpiringCache


def test_oldest_entries_are_dropped_first() -> None:
    """The number of entries, and with it memory, is bounded."""
    cache: ExpiringCache[int] = ExpiringCache()
    for i in range(MAX_ENTRIES + 10):
        cache.put(i, i, until=10)

    assert len(cache) == MAX_ENTRIES
    assert cache.get(0, 0) is None
    assert cache.get(MAX_ENTRIES, 0) == MAX_ENTRIES
    assert cache.get(MAX_ENTRIES, 11) is None
