"""Six policies on a small trace, and what a pod gets, on a cluster in memory."""

from pathlib import Path

from paper import CLASSES, POLICIES, run_once

from bayplan.testing import VirtualCluster, make_node, make_pod

HERE = Path(__file__).parent
COUNT, MILLI = "alibabacloud.com/gpu-count", "alibabacloud.com/gpu-milli"

print("GPU allocation in % when the pods have asked for …  100 %  130 %")
for policy in POLICIES:
    rates = dict(run_once(HERE / "nodes.csv", HERE / "pods.csv", policy, seed=1, ties="name"))
    print(f"{policy:50}  {rates[100]:.2f}  {rates[130]:.2f}")

node = make_node("node", cpu="64", memory="256Gi", resources={COUNT: "2"})
plugins = [f"{HERE / 'gpu_sharing.py'}:{name}" for name in ("GpuShare", CLASSES["FGD"])]
with VirtualCluster([node], plugins=plugins, configuration=(HERE / "scheduler.yaml").read_text()) as cluster:
    for name, milli in (("half", 500), ("third", 300), ("whole", 1000), ("more", 400)):
        annotations = {COUNT: "1", MILLI: str(milli)}
        pod = cluster.schedule(make_pod(name, cpu="1", metadata={"annotations": annotations}))
        device = pod.annotations.get("alibabacloud.com/gpu-index", "-")
        event = cluster.events(name)[0].split(" preemption:")[0]
        print(f"{name}, {milli}/1000 of a GPU: device {device}; {event}")
