"""Instruments count, and are written in Prometheus' format."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bayplan.observe.instruments import STABLE, Counter, Gauge, Histogram, MetricsRegistry, exponential


def test_bounds_are_those_of_go() -> None:
    """Multiplied step by step, rounding errors included: the text of a bound is a label."""
    assert exponential(0.00001, 1.5, 4) == (
        1e-05,
        1.5000000000000002e-05,
        2.2500000000000005e-05,
        3.375000000000001e-05,
    )


def test_everything_is_written_and_read_again() -> None:
    """Names, help with its stability, types, labels and values."""
    attempts = Counter("attempts_total", "Attempts.", "result", stability=STABLE)
    pods = Gauge("pods", "Pods.", "queue")
    seconds = Histogram("seconds", "Time.", "point", buckets=(1.0, 2.0, 0.5e1))
    registry = MetricsRegistry()
    registry.add(pods, seconds, attempts)
    attempts.labels("scheduled").inc()
    pods.labels("active").set(3)
    for value in (0.5, 1.0, 1.5, 7.0):
        seconds.labels("Filter").observe(value)

    text = registry.text().decode()
    families = {family.name: family for family in text_string_to_metric_families(text)}

    assert "# HELP attempts_total [STABLE] Attempts.\n# TYPE attempts_total counter\n" in text
    assert families["attempts"].samples[0].value == 1
    assert families["pods"].samples[0].labels == {"queue": "active"}
    buckets = [(each.labels["le"], each.value) for each in families["seconds"].samples if "le" in each.labels]
    assert buckets == [("1", 2), ("2", 3), ("5", 3), ("+Inf", 4)]
    assert 'seconds_sum{point="Filter"} 10.0\nseconds_count{point="Filter"} 4.0\n' in text


def test_families_without_children_are_left_out() -> None:
    """As in Go: a metric with labels appears with its first child, one without labels is 0 from the start."""
    registry = MetricsRegistry()
    registry.add(Counter("seen_total", "Seen."), Counter("by_label_total", "By label.", "label"))

    text = registry.text().decode()

    assert "seen_total 0.0" in text
    assert "by_label_total" not in text


def test_disabled_metrics_are_not_shown() -> None:
    """--disabled-metrics hides a family, which still counts."""
    registry = MetricsRegistry(disabled=["seen_total"])
    registry.add(Counter("seen_total", "Seen."), Counter("other_total", "Other."))

    assert "seen" not in registry.text().decode()
    assert "other" in registry.text().decode()


def test_gauges_are_refreshed_before_a_scrape() -> None:
    """By the callback."""
    pods = Gauge("pods", "Pods.")
    registry = MetricsRegistry()
    registry.add(pods)
    registry.before_scrape(lambda: pods.labels().inc())

    assert b"pods 1.0" in registry.text()
    assert b"pods 2.0" in registry.text()


def test_wrong_use_raises() -> None:
    """A wrong number of labels, and a name that is taken."""
    with pytest.raises(ValueError, match="has the labels"):
        Gauge("pods", "Pods.", "queue").labels("a", "b")
    registry = MetricsRegistry()
    registry.add(Gauge("pods", "Pods."))
    with pytest.raises(ValueError, match="already"):
        registry.add(Gauge("pods", "Pods."))
