"""Images that are there already."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.model import Node, Pod
from bayplan.plugins.nodes.image_locality import ImageLocality, normalized_image_name
from bayplan.testing import make_node, make_pod

MIB = 1024 * 1024


def node_with(name: str, **sizes_mib: int) -> Node:
    """A node with the images `registry/<name>:v1` of these sizes."""
    images = [{"names": [f"registry/{image}:v1"], "sizeBytes": size * MIB} for image, size in sizes_mib.items()]
    return make_node(name, status={"allocatable": {}, "images": images})


def pod_of(*images: str, **more: Any) -> Pod:
    containers = [{"name": f"c{i}", "image": f"registry/{image}:v1"} for i, image in enumerate(images)]
    return make_pod("p", spec={"containers": containers, **more})


@pytest.mark.parametrize(
    ("name", "normalized"),
    [
        pytest.param("nginx", "nginx:latest", id="no tag"),
        pytest.param("nginx:1.0", "nginx:1.0", id="a tag"),
        pytest.param("registry:5000/nginx", "registry:5000/nginx:latest", id="a port is no tag"),
        pytest.param("registry:5000/nginx:1.0", "registry:5000/nginx:1.0", id="a port and a tag"),
        pytest.param("nginx@sha256:abc", "nginx@sha256:abc", id="a digest"),
        pytest.param("", ":latest", id="nothing"),
    ],
)
def test_normalized_names(name: str, normalized: str) -> None:
    """A name without a tag means `latest`; the colon must come after the last slash."""
    assert normalized_image_name(name) == normalized


@pytest.mark.parametrize(
    ("size_mib", "score"),
    [
        # Half of the two nodes have it: 100·(size/2 − 23)/(1000 − 23), cut.
        pytest.param(46, 0, id="at the lower threshold"),
        pytest.param(40, 0, id="below it"),
        pytest.param(500, 23, id="between: 100·227/977"),
        pytest.param(2000, 100, id="at the upper threshold"),
        pytest.param(9000, 100, id="above it"),
    ],
)
def test_size_counts_by_how_many_nodes_have_it(size_mib: int, score: int) -> None:
    bench = Bench([node_with("has", app=size_mib), node_with("bare")])
    assert bench.scores(bench.plugin(ImageLocality), pod_of("app")) == {"has": score, "bare": 0}


def test_all_nodes_count_for_the_spread() -> None:
    """Spread is over the whole cluster even when few nodes are scored: 400 MiB on 1 of 4 counts 100."""
    bench = Bench([node_with("has", app=400), *(node_with(f"n{i}") for i in range(3))])
    scores = bench.scores(bench.plugin(ImageLocality), pod_of("app"), "n0", "has")
    assert scores == {"n0": 0, "has": 100 * (100 - 23) // (1000 - 23)}


@pytest.mark.parametrize(("release", "n_expected"), [("1.36", 3), ("1.37", 4)])
def test_every_use_of_an_image_counts(release: str, n_expected: int) -> None:
    """Containers, init containers and image volumes; the volumes raise the upper threshold from 1.37 on."""
    nodes = [node_with(name, app=300, init=200, data=100) for name in "ab"]
    bench = Bench(nodes, release=release)
    plugin = bench.plugin(ImageLocality)
    init = [{"name": "i", "image": "registry/init:v1"}]
    volumes = [{"name": "v", "image": {"reference": "registry/data:v1"}}, {"name": "w", "emptyDir": {}}]
    pod = pod_of("app", "app", initContainers=init, volumes=volumes)
    expected = 100 * (300 + 300 + 200 + 100 - 23) // (n_expected * 1000 - 23)
    assert bench.scores(plugin, pod) == {"a": expected, "b": expected}


def test_unknown_images_score_nothing() -> None:
    bench = Bench([node_with("a", app=300), node_with("b")])
    assert bench.scores(bench.plugin(ImageLocality), pod_of("other")) == {"a": 0, "b": 0}


def test_sign_is_the_images() -> None:
    plugin = Bench().plugin(ImageLocality)
    assert plugin.sign(pod_of("a")) == plugin.sign(pod_of("a"))
    assert len({plugin.sign(pod_of(*images)) for images in ("a", "b", "ab", "aa")}) == 4


@pytest.mark.parametrize(("release", "score"), [("1.36", 48), ("1.37", 24)])
def test_image_volumes_raise_what_is_expected(release: str, score: int) -> None:
    """500 MiB of the image are there, on the one node: of one image, or of two with the volume's."""
    bench = Bench([node_with("a", x=500)], release=release)
    pod = pod_of("x", volumes=[{"name": "v", "image": {"reference": "registry/y:v1"}}])
    assert bench.scores(bench.plugin(ImageLocality), pod) == {"a": score}
