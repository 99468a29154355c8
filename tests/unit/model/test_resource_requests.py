"""Requests of pods, by the rules of component-helpers 0.36 and of the scheduler's NodeInfo."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import Node, ObjectError, Pod, RequestOptions, pod_requests

MI = 2**20
Dict = dict[str, Any]


def container(name: str = "c", *, sidecar: bool = False, **requests: str) -> Dict:
    """A container; keyword arguments are requests, with _ for - in names."""
    amounts = {key.replace("_", "-"): value for key, value in requests.items()}
    return {"name": name, "resources": {"requests": amounts}} | ({"restartPolicy": "Always"} if sidecar else {})


def pod(*containers: Dict, init: tuple[Dict, ...] = (), status: Dict | None = None, **spec: Any) -> Pod:
    """A pod of these containers."""
    whole = {"containers": list(containers), "initContainers": list(init), **spec}
    return Pod.from_dict({"metadata": {"name": "p"}, "spec": whole, "status": status or {}})


def test_containers_are_summed() -> None:
    """Containers run side by side; cpu is in thousandths, the rest in units."""
    assert pod(container(cpu="1", memory="1Ki"), container(cpu="250m")).requests == {"cpu": 1250, "memory": 1024}


def test_sum_is_rounded_once() -> None:
    """Two containers of half a thousandth make one thousandth, not two."""
    assert pod(container(cpu="500u"), container(cpu="500u")).requests == {"cpu": 1}


def test_init_containers_set_a_minimum() -> None:
    """Init containers run one after another: the largest counts, if it is more than the sum of containers."""
    init = (container(cpu="3", memory="1"), container(cpu="2", memory="5"))

    assert pod(container(cpu="1", memory="7"), init=init).requests == {"cpu": 3000, "memory": 7}


def test_sidecars_run_beside_what_follows() -> None:
    """A sidecar adds to the containers, and to the init containers after it, not to those before."""
    before, after = container(cpu="5"), container(cpu="4")
    sidecar = container(sidecar=True, cpu="2")

    assert pod(container(cpu="1"), init=(before, sidecar)).requests == {"cpu": 5000}
    assert pod(container(cpu="1"), init=(sidecar, after)).requests == {"cpu": 6000}


def test_sidecars_add_up_while_starting() -> None:
    """Sidecars alone: their sum, and the containers'."""
    init = (container(sidecar=True, cpu="1"), container(sidecar=True, cpu="2"))

    assert pod(container(cpu="4"), init=init).requests == {"cpu": 7000}


def test_overhead_comes_on_top() -> None:
    """Overhead is added last, also of resources that nobody requests."""
    overhead = {"cpu": "10m", "memory": "5"}

    assert pod(container(cpu="1"), overhead=overhead).requests == {"cpu": 1010, "memory": 5}


def test_pod_level_requests_replace_the_sum() -> None:
    """cpu, memory and huge pages of the pod as a whole win; other resources stay those of the containers."""
    own = {"requests": {"cpu": "5", "hugepages-2Mi": "4Mi", "example.com/gpu": "9"}}
    requests = pod(container(cpu="1", memory="7"), resources=own, overhead={"cpu": "1"}).requests

    assert requests == {"cpu": 6000, "memory": 7, "hugepages-2Mi": 4 * MI}


def test_pod_level_requests_can_be_gated() -> None:
    """Without PodLevelResources only containers count."""
    options = RequestOptions(pod_level=False)

    subject = pod(container(cpu="1"), resources={"requests": {"cpu": "5"}})

    assert pod_requests(subject.spec, subject.status, options) == {"cpu": 1000}


def resized(reason: str = "", **status: Any) -> Pod:
    """A pod that asks for 2 cpus, has 3, and was promised 4."""
    conditions = [{"type": "PodResizePending", "status": "True", "reason": reason}] if reason else []
    statuses = [
        {"name": "c", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "4"}, **status}
    ]
    return pod(container(cpu="5"), status={"conditions": conditions, "containerStatuses": statuses})


def test_resize_counts_the_most() -> None:
    """While a pod is being resized the most of asked, promised and actual counts."""
    assert resized().requests == {"cpu": 5000}
    assert resized("Deferred").requests == {"cpu": 5000}


def test_infeasible_resize_does_not_count() -> None:
    """What was asked for in vain is left out."""
    assert resized("Infeasible").requests == {"cpu": 4000}


def test_fit_looks_at_the_spec_alone() -> None:
    """For a pod yet to be placed its status does not count."""
    assert resized("Infeasible").spec_requests == {"cpu": 5000}


def test_promises_without_actual_resources_do_not_count() -> None:
    """Until the kubelet reports what a container has, the spec stands."""
    assert resized(resources=None, allocatedResources={"cpu": "9"}).requests == {"cpu": 5000}


def test_plain_init_container_status_does_not_count() -> None:
    """Of init containers only sidecars can be resized."""
    statuses = [{"name": "i", "resources": {"requests": {"cpu": "9"}}}]
    status = {"initContainerStatuses": statuses}

    assert pod(container(cpu="1"), init=(container("i", cpu="2"),), status=status).requests == {"cpu": 2000}
    sidecar = container("i", sidecar=True, cpu="2")
    assert pod(container(cpu="1"), init=(sidecar,), status=status).requests == {"cpu": 10000}


def test_pod_level_resize_counts_the_most() -> None:
    """The pod's own resources are resized like a container's."""
    status = {"resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "4"}}

    assert pod(container(), resources={"requests": {"cpu": "1"}}, status=status).requests == {"cpu": 4000}


def test_missing_requests_count_a_little() -> None:
    """For scoring, a container without cpu or memory counts as 100m and 200Mi; zero is not missing."""
    assert pod(container(cpu="1"), container(memory="0")).nonzero_requests == {"cpu": 1100, "memory": 200 * MI}


def test_init_containers_get_defaults_too() -> None:
    """Defaults go to every kind of container, before sums and maxima."""
    init = (container(sidecar=True), container(cpu="150m"))

    assert pod(container(), init=init).nonzero_requests == {"cpu": 250, "memory": 400 * MI}


def test_pod_level_requests_need_no_defaults() -> None:
    """With pod-level requests, a resource that is requested at any level is taken as it is."""
    subject = pod(container(memory="1"), container(), resources={"requests": {"cpu": "1"}})

    assert subject.nonzero_requests == {"cpu": 1000, "memory": 1}


def test_scored_pod_gets_defaults_in_every_gap() -> None:
    """The pod being scored gets defaults for each container, even where a node would not count them."""
    subject = pod(container(memory="1"), container(), resources={"requests": {"cpu": "1"}})

    assert subject.scoring_requests == {"cpu": 1000, "memory": 1 + 200 * MI}


def test_only_counted_resources_are_requested() -> None:
    """Names without a domain that Kubernetes does not know are ignored; so is a request for pods."""
    subject = pod({"name": "c", "resources": {"requests": {"foo": "1", "pods": "2", "example.com/gpu": "0"}}})

    assert subject.requests == {"example.com/gpu": 0}
    assert subject.all_requests == {"foo": 1, "pods": 2, "example.com/gpu": 0}


def test_overflow_is_that_of_kubernetes() -> None:
    """cpu of 2Ei thousandfold does not fit an int64; Kubernetes ends up with 0, and so do we."""
    assert pod(container(cpu="2Ei")).requests == {"cpu": 0}


def test_sum_beyond_int64_wraps() -> None:
    """Nine exa twice is more than an int64 holds; Kubernetes keeps the low 64 bits."""
    huge = {"name": "c", "resources": {"requests": {"memory": "9000000000000000000"}}}

    assert pod(huge, huge).requests == {"memory": 18 * 10**18 - 2**64}


def test_invalid_quantity_names_the_pod() -> None:
    """A request that cannot be read is an error with the name of the pod."""
    with pytest.raises(ObjectError, match=r"Pod p: invalid quantity 'lots'"):
        _ = pod(container(cpu="lots")).requests


def test_requests_cannot_be_changed() -> None:
    """Requests are shared between pods of a kind, so nobody may change them."""
    first, second = pod(container(cpu="1")), pod(container(cpu="1"))

    assert first.requests is second.requests
    with pytest.raises(TypeError):
        first.requests["cpu"] = 0  # type: ignore[index]


amounts = st.integers(0, 10**6)
chains = st.lists(st.tuples(st.booleans(), amounts), max_size=5)


@given(st.lists(amounts, min_size=1, max_size=3), chains)
def test_requests_as_the_formula_says(containers: list[int], chain: list[tuple[bool, int]]) -> None:
    """The formula of the sidecar proposal: max(sum of all that stay, the most needed at any step)."""
    sidecars, most = 0, 0
    for is_sidecar, amount in chain:
        most = max(most, sidecars + amount)
        sidecars += amount if is_sidecar else 0
    subject = pod(
        *(container(f"c{i}", cpu=f"{amount}m") for i, amount in enumerate(containers)),
        init=tuple(container(f"i{i}", sidecar=s, cpu=f"{amount}m") for i, (s, amount) in enumerate(chain)),
    )

    assert subject.requests["cpu"] == max(sum(containers) + sidecars, most)


def test_node_offers_what_is_counted() -> None:
    """Allocatable in the same units, the number of pods included, unknown names left out."""
    allocatable = {"cpu": "1500m", "memory": "1Gi", "pods": "110", "foo": "3", "attachable-volumes-x": 5}
    node = Node.from_dict({"metadata": {"name": "n"}, "status": {"allocatable": allocatable}})

    assert node.allocatable == {"cpu": 1500, "memory": 2**30, "pods": 110, "attachable-volumes-x": 5}


def test_invalid_allocatable_names_the_node() -> None:
    """A node whose resources cannot be read is an error with its name."""
    node = Node.from_dict({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "many"}}})

    with pytest.raises(ObjectError, match=r"Node n: status.allocatable: invalid quantity 'many'"):
        _ = node.allocatable


def test_claims_on_the_node_count_when_gated_in() -> None:
    """DRANodeAllocatableResources, off by default, adds what claims take of the node."""
    status = {"nodeAllocatableResourceClaimStatuses": [{"resourceClaimName": "x", "resources": {"cpu": "2"}}]}
    subject = pod(container(cpu="1"), status=status)

    assert subject.requests == {"cpu": 1000}
    options = RequestOptions(node_allocatable_claims=True)
    assert pod_requests(subject.spec, subject.status, options) == {"cpu": 3000}
