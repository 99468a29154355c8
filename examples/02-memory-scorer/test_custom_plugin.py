"""Tests of the plugin: one line per node, one per expectation."""

from pathlib import Path

import pytest

from bayplan.framework import Registry
from bayplan.testing import Harness, check_plugin, make_node, make_pod

FILE = Path(__file__).with_name("custom_plugin.py")
CustomPlugin = Registry().add_reference(f"{FILE}:CustomPlugin").plugin
NormalizedPlugin = Registry().add_reference(f"{FILE}:NormalizedPlugin").plugin


@pytest.mark.parametrize(("labels", "fits"), [({"custom-label": "true"}, True), ({}, False)])
def test_filter(labels, fits):
    decision = Harness(plugins=[CustomPlugin], nodes=[make_node("node1", labels=labels)]).decide(make_pod("p"))
    assert bool(decision.node_name) == fits
    assert fits or "1 node doesn't have required custom label" in decision.message


def test_the_normalized_one_keeps_the_contract():
    check_plugin(NormalizedPlugin)
