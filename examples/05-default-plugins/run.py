"""The same pod with the default plugins and with changed weights, which prefer the node that has the image."""

from pathlib import Path

from bayplan.testing import Harness, make_node, make_pod

CONFIGURATION = Path(__file__).with_name("scheduler.yaml").read_text()
IMAGE = {"names": ["registry.example.com/model:1"], "sizeBytes": 900 * 1024**2}
NODES = [make_node("empty"), make_node("has-image", status={"images": [IMAGE]})]
BUSY = make_pod("busy", cpu="3", memory="8Gi", node_name="has-image")


def show(title, configuration):
    harness = Harness(configuration=configuration, nodes=NODES, pods=[BUSY])
    decision = harness.decide(make_pod("p", cpu="100m", image="registry.example.com/model:1"))
    print(f"{title}: p → {decision.node_name}")
    for plugin, scores in decision.scores.by_plugin.items():
        print(f"  {plugin:32} {scores.weighted.tolist()}")


show("default", None)
show("scheduler.yaml", CONFIGURATION)
