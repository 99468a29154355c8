"""Tests that need no mocked framework."""

from pathlib import Path

from bayplan.framework import Registry
from bayplan.testing import Harness, check_plugin, make_node, make_pod

MyScoringPlugin = (
    Registry().add_reference(f"{Path(__file__).with_name('my_scoring_plugin.py')}:MyScoringPlugin").plugin
)


def test_contract():
    check_plugin(MyScoringPlugin, {"label": "example.com/generation"})


def test_normalised_scores_span_the_range():
    nodes = [make_node("a", labels={"example.com/rank": "1"}), make_node("b", labels={"example.com/rank": "4"})]
    scores = Harness(plugins=[MyScoringPlugin], nodes=nodes).decide(make_pod("p")).scores
    assert scores.by_plugin["MyScoringPlugin"].normalized.tolist() == [25, 100]
