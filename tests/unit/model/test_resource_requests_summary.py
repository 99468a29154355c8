"""The forms of a pod's requests that are taken from one another equal those worked out by themselves."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import Pod, pod_requests
from bayplan.model.resource_requests import (
    MAX_SHARED,
    SPEC_ONLY,
    RequestSummary,
    counted,
    nonzero_requests,
    scoring_requests,
    summarize_requests,
)

Dict = dict[str, Any]

names = st.sampled_from(["cpu", "memory", "ephemeral-storage", "example.com/gpu", "hugepages-2Mi", "foo"])
amounts = st.sampled_from(["0", "1", "500u", "250m", "3", "1Gi", "-1", "9Ei", "20Ei"])
requests = st.one_of(
    st.dictionaries(names, amounts, max_size=3), st.fixed_dictionaries({"cpu": amounts, "memory": amounts})
)
resources = st.builds(lambda amounts: {"requests": amounts}, requests)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    """Pods with and without gaps, init containers, requests as a whole, and a status that tells of resources."""
    containers = [
        {"name": f"c{i}", "resources": each} for i, each in enumerate(draw(st.lists(resources, max_size=2)))
    ]
    init = [
        {"name": f"i{i}", "resources": each, **({"restartPolicy": "Always"} if draw(st.booleans()) else {})}
        for i, each in enumerate(draw(st.lists(resources, max_size=2)))
    ]
    spec: Dict = {"containers": containers, "initContainers": init}
    if draw(st.booleans()):
        spec["overhead"] = draw(requests)
    if draw(st.booleans()):
        spec["resources"] = draw(resources)
    status: Dict = {}
    if draw(st.booleans()):
        status["containerStatuses"] = [{"name": "c0", "resources": draw(resources)}]
    return Pod.from_dict({"metadata": {"name": "p"}, "spec": spec, "status": status})


texts = st.one_of(
    amounts,
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["", "+", "-"]),
        st.integers(0, 2**70),
        st.sampled_from(["", ".", ".5", ".0000000001", ".999999999999"]),
        st.sampled_from(["", "n", "u", "m", "k", "M", "E", "Ki", "Mi", "Gi", "Ei", "e3", "e-9", "e39", "e45"]),
    ),
)


@given(st.dictionaries(names, texts, max_size=3), st.booleans())
def test_one_container_by_itself_is_what_adding_up_gives(requests: dict[str, str], has_another: bool) -> None:
    """Nothing is added up then, so each amount is read and rounded by itself; beside another container, not."""
    containers: list[Dict] = [{"name": "c", "resources": {"requests": requests}}, {"name": "d"}]
    pod = Pod.from_dict({"metadata": {"name": "p"}, "spec": {"containers": containers[: 1 + has_another]}})
    assert pod.all_requests == pod_requests(pod.spec, pod.status)
    assert pod.requests == counted(pod_requests(pod.spec, pod.status))


def test_pods_that_request_the_same_share_a_summary() -> None:
    """Until there have been very many others; what it says stays the same."""
    first, *others = [
        Pod.from_dict({"spec": {"containers": [{"resources": {"requests": {"example.com/shared": str(i)}}}]}})
        for i in range(MAX_SHARED + 1)
    ]
    again = Pod.from_dict(first.raw)
    summary = summarize_requests(first.spec, first.status)
    assert summarize_requests(again.spec, again.status) is summary
    for each in others:
        assert summarize_requests(each.spec, each.status) is not summary
    fresh = summarize_requests(first.spec, first.status)
    assert fresh is not summary
    assert fresh.requests == summary.requests


@given(pods())
def test_every_form_is_what_its_own_computation_gives(pod: Pod) -> None:
    """Where nothing makes a difference between two forms, one is taken for the other."""
    spec, status = pod.spec, pod.status
    summary = RequestSummary(spec, status, has_reported=status.reports_resources)
    needed = counted(pod_requests(spec, status, SPEC_ONLY))

    assert summary.all_requests == pod_requests(spec, status)
    assert summary.requests == counted(pod_requests(spec, status))
    assert summary.spec_requests == {name: max(0, amount) for name, amount in needed.items()}
    assert summary.scoring_requests == scoring_requests(spec, status)
    assert summary.nonzero_requests == nonzero_requests(spec, status, pod_requests(spec, status))
