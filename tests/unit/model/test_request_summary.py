"""The forms of a pod's requests that are taken from one another equal those worked out by themselves."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bayplan.model import Pod, pod_requests
from bayplan.model.request_summary import RequestSummary
from bayplan.model.resources import SPEC_ONLY, counted, nonzero_requests, scoring_requests

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


@given(pods())
def test_every_form_is_what_its_own_computation_gives(pod: Pod) -> None:
    """Where nothing makes a difference between two forms, one is taken for the other."""
    spec, status, summary = pod.spec, pod.status, RequestSummary(pod.spec, pod.status)
    needed = counted(pod_requests(spec, status, SPEC_ONLY))

    assert summary.spec_requests == {name: max(0, amount) for name, amount in needed.items()}
    assert summary.scoring_requests == scoring_requests(spec, status)
    assert summary.nonzero_requests == nonzero_requests(spec, status, pod_requests(spec, status))
