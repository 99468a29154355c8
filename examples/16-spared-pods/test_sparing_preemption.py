"""How to test your own plugin: `python -m pytest test_sparing_preemption.py`."""

from pathlib import Path

import pytest

from bayplan.framework import Registry
from bayplan.testing import Harness, check_plugin, make_node, make_pod

HERE = Path(__file__).parent
SparingPreemption = Registry().add_reference(f"{HERE / 'sparing_preemption.py'}:SparingPreemption").plugin


@pytest.mark.parametrize(
    ("label", "nominated"), [({"example.com/spared": "true"}, ""), ({"example.com/spared": "no"}, "a"), ({}, "a")]
)
def test_only_the_label_spares(label, nominated):
    harness = Harness(
        configuration=(HERE / "scheduler.yaml").read_text(),
        plugins=[SparingPreemption],
        nodes=[make_node("a", cpu="1")],
        pods=[make_pod("there", cpu="1", labels=label, node_name="a")],
    )

    decision = harness.decide(make_pod("urgent", cpu="1", priority=1000))

    assert (decision.nominate or "") == nominated
    assert [victim.name for victim in decision.victims] == (["there"] if nominated else [])


def test_it_keeps_the_contract():
    check_plugin(SparingPreemption)
