"""LoadFeeds: plugins that name the same source share one feed, which the scheduler's service fills."""

from __future__ import annotations

from bayplan.framework.load_metrics import CPU_LOAD, LATEST, LoadFeeds, LoadReport, LoadSource, Metric


def test_feed_is_shared_by_source() -> None:
    """Equal sources have one feed; each feed is iterated once."""
    feeds = LoadFeeds()
    feed = feeds.feed(LoadSource("Prometheus", "http://prometheus"))
    assert feeds.feed(LoadSource("Prometheus", "http://prometheus")) is feed
    other = feeds.feed(LoadSource("Prometheus", "http://other"))
    assert list(feeds) == [feed, other]


def test_feed_has_the_latest_report() -> None:
    """None until the first report was fetched."""
    feed = LoadFeeds().feed(LoadSource("KubernetesMetricsServer"))
    assert feed.report is None
    feed.report = LoadReport(60, {"a": [Metric(CPU_LOAD, LATEST, 12.5)]})
    assert feed.report.nodes["a"][0].value == 12.5


def test_feeds_may_be_added_while_iterating() -> None:
    """A plugin that is created meanwhile may ask for another feed."""
    feeds = LoadFeeds()
    feeds.feed(LoadSource("Prometheus"))
    for feed in feeds:
        feeds.feed(LoadSource("KubernetesMetricsServer"))
        assert feed.source == LoadSource("Prometheus")
    assert len(list(feeds)) == 2
