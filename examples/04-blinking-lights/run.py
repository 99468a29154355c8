"""Three nodes with two, five and no blinking lights; then with none at all."""

from pathlib import Path

from bayplan.testing import Harness, make_node, make_pod

HERE = Path(__file__).parent


def show(**lights):
    nodes = [make_node(name, labels={"example.com/blinking-lights": str(n)}) for name, n in lights.items()]
    harness = Harness(
        configuration=(HERE / "scheduler.yaml").read_text(),
        plugins=[f"{HERE / 'blinking_lights.py'}:BlinkingLightScorer"],
        nodes=nodes,
    )
    decision = harness.decide(make_pod("p"))
    own = decision.scores.by_plugin["BlinkingLightScorer"]
    print(f"{lights}: normalised {own.normalized.tolist()}, p → {decision.node_name}")


show(a=2, b=5, c=0)
show(a=0, b=0)
