"""Scores nodes by memory, and shows the error when one has more than 100 GiB."""

from pathlib import Path

from bayplan.testing import Harness, make_node, make_pod

HERE = Path(__file__).parent
CONFIGURATION = (HERE / "scheduler.yaml").read_text()
MINE = {"custom-label": "true"}


def decide(plugin, *nodes):
    harness = Harness(
        configuration=CONFIGURATION.replace("CustomPlugin", plugin),
        plugins=[f"{HERE / 'custom_plugin.py'}:{plugin}"],
        nodes=nodes,
    )
    decision = harness.decide(make_pod("p", scheduler_name="custom-scheduler"))
    if decision.scores is not None:
        own = decision.scores.by_plugin[plugin].normalized.tolist()
        print("scores:", dict(zip(decision.scores.nodes.names.tolist(), own, strict=True)))
    print("p →", decision.node_name or decision.message)


small, large = make_node("small", memory="16Gi", labels=MINE), make_node("large", memory="64Gi", labels=MINE)
decide("CustomPlugin", small, large, make_node("no-label", memory="96Gi"))
decide("CustomPlugin", small, make_node("huge", memory="256Gi", labels=MINE))
decide("NormalizedPlugin", small, make_node("huge", memory="256Gi", labels=MINE))
