"""Eight GPUs a node, four on each NVLink switch; on one node three are taken, and the other one is busier."""

from pathlib import Path

from bayplan.apiserver.simulation.simulated_devices import SimulatedDevices
from bayplan.testing import VirtualCluster, make_pod

HERE = Path(__file__).parent
GPUS = SimulatedDevices("gpu", 8, attributes={"nvlink": [0, 0, 0, 0, 1, 1, 1, 1]})
CLAIM = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/two"
PLUGINS = [f"{HERE / 'neighbours.py'}:Neighbours"]


def pod(name, claim="", cpu="1", **spec):
    claims = [{"name": "gpus", "resourceClaimName": claim}] if claim else []
    return make_pod(name, cpu=cpu, spec={"resourceClaims": claims, **spec})


def on(node):
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def tell(title, **options):
    manifests = (HERE / "claims.yaml").read_text()
    with VirtualCluster(nodes=2, devices=[GPUS], manifests=manifests, **options) as cluster:
        cluster.schedule(pod("first", "three", **on("node-1")))
        cluster.schedule(pod("busy", cpu="3", **on("node-2")))
        cluster.schedule(pod("second", "two"))
        allocation = cluster.get(CLAIM)["status"]["allocation"]
        devices = [result["device"] for result in allocation["devices"]["results"]]
        print(f"{title}: {cluster.pod('second').node_name}, {' and '.join(devices)}")


tell("without the plugin")
tell("with the plugin", plugins=PLUGINS, configuration=(HERE / "scheduler.yaml").read_text())
