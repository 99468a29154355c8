"""Three teams on three nodes of eight cores, in memory: which pods are placed, and which are evicted."""

from pathlib import Path

import yaml

from bayplan.model import decode_object
from bayplan.testing import Harness, make_node, make_pod

HERE = Path(__file__).parent
harness = Harness(
    nodes=[make_node(name, cpu="8") for name in ("node-0", "node-1", "node-2")],
    objects=[decode_object(each) for each in yaml.safe_load_all((HERE / "teams.yaml").read_text())],
    configuration=(HERE / "scheduler.yaml").read_text(),
)
placed = {}


def start(team, first=0, last=None):
    """Schedule the replicas of a team's Deployment, one after another; evicted pods are removed at once."""
    deployment = yaml.safe_load((HERE / f"{team}.yaml").read_text())["spec"]
    for i in range(first, last or deployment["replicas"]):
        schedule(make_pod(f"{team}-{i}", namespace=team, spec=deployment["template"]["spec"]))


def schedule(pod):
    decision = harness.schedule(pod)
    if decision.nominate:
        for victim in decision.victims:
            finish(victim.name)
        print(f"  {pod.name} takes the place of {len(decision.victims)} of {decision.victims[0].namespace}")
        decision = harness.schedule(pod)
    if decision.node_name:
        placed[pod.name] = pod
    else:
        print(f"  {pod.name} waits: {decision.message}")


def finish(name):
    harness.core.cache.remove_pod(placed.pop(name).uid)


def show(title):
    cores = dict.fromkeys(("batch", "research", "web"), 0)
    for pod in placed.values():
        cores[pod.namespace] += pod.requests["cpu"] // 1000
    print(f"{title}: " + ", ".join(f"{team} {used}" for team, used in cores.items()))


start("batch")
show("Night, batch borrows what nobody uses")
start("research")
show("Research wants what it is sure of")
start("web")
show("So does web, and one pod more")
for i in range(4):
    finish(f"research-{i}")
start("web", first=2)
show("Research is done, web borrows")
start("web", first=3, last=4)
show("Web is at its max")
