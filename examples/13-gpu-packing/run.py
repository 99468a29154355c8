"""Two nodes with eight GPUs each, one without: small pods share a node, and a large one finds the other free."""

from pathlib import Path

from gpu_packing import GpuPacking

from bayplan.testing import Harness, make_node, make_pod

GPU = "example.com/gpu"
harness = Harness(
    configuration=Path(__file__).with_name("scheduler.yaml").read_text(),
    plugins=[GpuPacking],
    nodes=[make_node("g1", resources={GPU: "8"}), make_node("g2", resources={GPU: "8"}), make_node("plain")],
    pods=[make_pod("there", requests={GPU: "1"}, node_name="g2")],
)

for name, gpus in {"small-1": 2, "small-2": 2, "web": 0, "large": 8}.items():
    pod = make_pod(name, cpu="100m", requests={GPU: str(gpus)} if gpus else {})
    print(f"{name} ({gpus} GPUs) → {harness.schedule(pod).node_name}")
