"""Pods choose their profile with schedulerName."""

from pathlib import Path

from bayplan.testing import Harness, make_node, make_pod

harness = Harness(
    configuration=Path(__file__).with_name("scheduler.yaml").read_text(),
    nodes=[make_node("full"), make_node("free")],
    pods=[make_pod("busy", cpu="3", node_name="full")],
)
for profile in ("default-scheduler", "no-scoring-scheduler"):
    nodes = {harness.decide(make_pod("p", cpu="500m", scheduler_name=profile)).node_name for _ in range(20)}
    scores = harness.decide(make_pod("p", cpu="500m", scheduler_name=profile)).scores
    print(f"{profile}: {len(scores.by_plugin) if scores else 0} scorers, chose {' or '.join(sorted(nodes))}")
