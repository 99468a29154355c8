"""How to test your own plugin: `python -m pytest test_gpu_packing.py`."""

from pathlib import Path

import pytest

from bayplan import ConfigError
from bayplan.framework import Registry
from bayplan.testing import Harness, check_plugin, make_node, make_pod

HERE = Path(__file__).parent
GpuPacking = Registry().add_reference(f"{HERE / 'gpu_packing.py'}:GpuPacking").plugin
CONFIGURATION = (HERE / "scheduler.yaml").read_text()
GPU = "example.com/gpu"


def scores(pod, **used):
    nodes = [make_node(name, resources={GPU: "8"}) for name in used]
    pods = [make_pod(f"on-{name}", requests={GPU: str(n)}, node_name=name) for name, n in used.items() if n]
    harness = Harness(
        configuration=CONFIGURATION, plugins=[GpuPacking], nodes=[*nodes, make_node("plain")], pods=pods
    )
    return harness.decide(pod).scores.by_plugin["GpuPacking"].raw.tolist()


def test_fuller_nodes_are_better():
    assert scores(make_pod("p", requests={GPU: "2"}), a=0, b=4) == [25, 75]


def test_pods_without_gpus_go_elsewhere():
    assert scores(make_pod("p"), a=0, b=4) == [0, 0, 100]


def test_it_keeps_the_contract():
    check_plugin(GpuPacking, {"resource": GPU})


def test_a_wrong_resource_is_refused():
    with pytest.raises(ConfigError, match=r"args.resource: .*name an extended resource"):
        Harness(configuration=CONFIGURATION.replace(GPU, "gpu"), plugins=[GpuPacking])
