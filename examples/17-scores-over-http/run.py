"""A service prefers node-2, then node-3; when it is gone, its last scores stay in use."""

from pathlib import Path

from score_server import serving

from bayplan.testing import VirtualCluster, make_pod

HERE = Path(__file__).parent
CONFIGURATION = (HERE / "scheduler.yaml").read_text()
scores = {"node-2": 80}


def started(url):
    return VirtualCluster(
        nodes=3,
        plugins=[f"{HERE / 'http_scores.py'}:HttpScores"],
        configuration=CONFIGURATION.replace("http://127.0.0.1:8080/scores", url),
    )


with serving(scores) as url:
    cluster = started(url).__enter__()
    cluster.wait(1)
    print("first →", cluster.schedule(make_pod("first")).node_name)
    scores["node-3"] = 100
    cluster.wait(10)
    print("second →", cluster.schedule(make_pod("second")).node_name)
cluster.wait(60)
print("without the service: third →", cluster.schedule(make_pod("third")).node_name)
cluster.__exit__(None, None, None)
