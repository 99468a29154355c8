"""Metrics of plugins: shared by the instances of a plugin, refused where names clash."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from bayplan.core.plugin_metrics import OwnMetrics, PluginMetrics
from bayplan.framework import PluginError
from bayplan.plugins.nodes.node_name import NodeName


class Instance(NamedTuple):
    """Implements `MetricsOwner`."""

    name: str
    plugin: object
    number: int = 0


V1, V2 = object(), object()
LIGHTS, SECOND = Instance("Lights", V1), Instance("Lights", V1, 2)
RELOADED, OTHER = Instance("Lights", V2), Instance("Signs", V1)


def scraped(metrics: PluginMetrics) -> list[str]:
    """The lines of a scrape, without comments."""
    return [line for line in metrics.registry.text().decode().splitlines() if not line.startswith("#")]


def test_what_is_counted_is_scraped() -> None:
    """A metric without labels is there from the start; one with labels, from the first value on."""
    metrics = PluginMetrics()
    own = OwnMetrics(metrics, LIGHTS)
    own.counter("lights_on_total", "Lights on.").labels().inc()
    own.gauge("lights", "Lights.", "colour").labels("red").set(3)
    own.histogram("light_seconds", "How long.", buckets=(1, 5)).labels().observe(2)

    assert scraped(metrics) == [
        'light_seconds_bucket{le="1"} 0.0',
        'light_seconds_bucket{le="5"} 1.0',
        'light_seconds_bucket{le="+Inf"} 1.0',
        "light_seconds_sum 2.0",
        "light_seconds_count 1.0",
        'lights{colour="red"} 3.0',
        "lights_on_total 1.0",
    ]


def test_built_in_plugins_have_metrics_of_kube_scheduler() -> None:
    metrics = PluginMetrics()
    OwnMetrics(metrics, Instance("NodeName", NodeName)).counter("scheduler_names_total", "Names.").labels().inc()

    assert scraped(metrics) == ["scheduler_names_total 1.0"]


def test_profiles_share_a_metric() -> None:
    """Two instances of one plugin count in the same place, and so does one that asks twice."""
    metrics = PluginMetrics()
    first = OwnMetrics(metrics, LIGHTS).counter("lights_on_total", "Lights on.")

    assert OwnMetrics(metrics, SECOND).counter("lights_on_total", "Lights on.") is first
    assert OwnMetrics(metrics, LIGHTS).counter("lights_on_total", "Lights on.") is first


def test_numbers_go_on_after_a_reload() -> None:
    """The new instance declares the same metric before the old one ends."""
    metrics = PluginMetrics()
    OwnMetrics(metrics, LIGHTS).counter("lights_on_total", "Lights on.").labels().inc(5)
    OwnMetrics(metrics, RELOADED).counter("lights_on_total", "Lights on, says the new file.").labels().inc()
    metrics.release(LIGHTS)

    assert scraped(metrics) == ["lights_on_total 6.0"]


def test_reload_may_change_the_form() -> None:
    """The old form is scraped until the old instance ends; if the reload fails, it stays."""
    metrics = PluginMetrics()
    OwnMetrics(metrics, LIGHTS).gauge("lights", "Lights.")
    OwnMetrics(metrics, RELOADED).gauge("lights", "Lights.", "colour").labels("red").set(1)
    assert scraped(metrics) == ["lights 0.0"]

    metrics.release(LIGHTS)
    assert scraped(metrics) == ['lights{colour="red"} 1.0']


def test_reload_that_failed_leaves_the_old_form() -> None:
    """The new instance is not used after all."""
    metrics = PluginMetrics()
    OwnMetrics(metrics, LIGHTS).gauge("lights", "Lights.")
    OwnMetrics(metrics, RELOADED).gauge("lights", "Lights.", "colour")
    metrics.release(RELOADED)

    assert scraped(metrics) == ["lights 0.0"]


def test_metrics_end_with_the_last_instance() -> None:
    """And the name is free again."""
    metrics = PluginMetrics()
    OwnMetrics(metrics, LIGHTS).gauge("lights", "Lights.")
    OwnMetrics(metrics, SECOND).gauge("lights", "Lights.")
    metrics.release(LIGHTS)
    assert scraped(metrics) == ["lights 0.0"]

    metrics.release(SECOND)
    assert scraped(metrics) == []
    OwnMetrics(metrics, OTHER).gauge("lights", "Lights.")


def declare(own: OwnMetrics, kind: str, name: str, *labels: str, **options: Any) -> None:
    getattr(own, kind)(name, "Text.", *labels, **options)


@pytest.mark.parametrize(
    ("owner", "kind", "name", "labels", "options", "sentence"),
    [
        (OTHER, "gauge", "lights", (), {}, "the metric lights is one of plugin Lights; choose another name"),
        (
            SECOND,
            "gauge",
            "lights",
            ("colour",),
            {},
            "the metric lights is declared twice: as a gauge with no labels, and as a gauge with labels colour",
        ),
        (
            LIGHTS,
            "counter",
            "scheduler_lights_total",
            (),
            {},
            "the metric scheduler_lights_total cannot begin with scheduler_: such names are the scheduler's own",
        ),
        (LIGHTS, "counter", "lit", (), {}, "the name of a counter ends in _total: lit_total"),
        (
            LIGHTS,
            "gauge",
            "my lights",
            (),
            {},
            "'my lights' cannot be the name of a metric: use letters, digits and underscores",
        ),
        (LIGHTS, "gauge", "lit", ("__name__",), {}, "the metric lit: '__name__' cannot be the name of a label"),
        (LIGHTS, "gauge", "lit", ("a", "a"), {}, "the metric lit has a label twice: a, a"),
        (
            LIGHTS,
            "histogram",
            "lit",
            ("le",),
            {},
            "the metric lit cannot have the label le: it is that of the buckets",
        ),
        (
            LIGHTS,
            "histogram",
            "lit",
            (),
            {"buckets": (2, 1)},
            "the metric lit needs buckets in growing order, not (2, 1)",
        ),
    ],
    ids=[
        "another plugin's",
        "two forms",
        "the scheduler's",
        "counter's name",
        "spaces",
        "label",
        "label twice",
        "label of buckets",
        "buckets",
    ],
)
def test_refusals_say_why(
    owner: Instance, kind: str, name: str, labels: tuple[str, ...], options: dict[str, Any], sentence: str
) -> None:
    """Nothing is changed by a declaration that is refused."""
    metrics = PluginMetrics()
    OwnMetrics(metrics, LIGHTS).gauge("lights", "Lights.")

    with pytest.raises(PluginError) as refused:
        declare(OwnMetrics(metrics, owner), kind, name, *labels, **options)
    assert str(refused.value) == sentence
    assert scraped(metrics) == ["lights 0.0"]
