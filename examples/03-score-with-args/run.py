"""Shows raw, normalised and weighted scores of the plugin."""

from pathlib import Path

from bayplan.testing import Harness, make_node, make_pod

HERE = Path(__file__).parent
CONFIGURATION = (HERE / "scheduler.yaml").read_text()
NODES = [
    make_node("old", labels={"example.com/generation": "2"}),
    make_node("new", labels={"example.com/generation": "8"}),
]


def show(configuration):
    plugin = f"{HERE / 'my_scoring_plugin.py'}:MyScoringPlugin"
    decision = Harness(configuration=configuration, plugins=[plugin], nodes=NODES).decide(make_pod("p"))
    own = decision.scores.by_plugin["MyScoringPlugin"]
    print(f"raw {own.raw.tolist()}, normalised {own.normalized.tolist()}, weighted {own.weighted.tolist()}")
    print("p →", decision.node_name)


show(CONFIGURATION)
show(CONFIGURATION + "      reverse: true\n")
