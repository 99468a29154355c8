"""Objects that nobody should have written: the outcome is kube-scheduler's, and never an exception.

Most of these the API server refuses; what reaches a scheduler all the same costs one attempt of one pod.
Texts are those of kube-scheduler 1.37.1 (pkg/scheduler, component-helpers and apimachinery of that release).
"""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.core import Decision
from bayplan.model import Node, ObjectError, Pod
from bayplan.testing import Harness, make_node, make_pod

NOT_HELPFUL = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
NEAR = {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["x"]}]}
IN_NOTHING = {"matchExpressions": [{"key": "app", "operator": "In", "values": []}]}
BAD_VALUE = {"matchLabels": {"app": "{{.bad}}"}}

NEAR_TEXT = '"Near" is not a valid label selector operator'
IN_NOTHING_TEXT = "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
BAD_VALUE_TEXT = (
    'values[0][app]: Invalid value: "{{.bad}}": a valid label must be an empty string or consist of alphanumeric '
    "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    "'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def decide(pod: Pod, *nodes: Node, **options: Any) -> Decision:
    """On two plain nodes, or the given ones."""
    return Harness(nodes=nodes or [make_node("a"), make_node("b")], **options).decide(pod)


def outcome(decision: Decision) -> tuple[str, str]:
    assert not decision.node_name
    return decision.reason, decision.message


# --- node affinity -----------------------------------------------------------------------------------


def _node_affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def _expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    "spec",
    [
        _node_affinity(_expression("disk", "Near", "x")),
        _node_affinity(_expression("-disk-", "In", "x")),
        _node_affinity(_expression("disk", "In")),
        _node_affinity(_expression("disk", "Exists", "x")),
        _node_affinity(_expression("disk", "Gt", "much")),
        _node_affinity({"matchFields": [{"key": "metadata.name", "operator": "Exists", "values": []}]}),
        _node_affinity(),
        _node_affinity({}),
        {"nodeSelector": {"disk": "{{.bad}}"}},
    ],
    ids=[
        "unknown operator",
        "invalid key",
        "In without values",
        "Exists with values",
        "Gt without a number",
        "operator not for fields",
        "no terms",
        "an empty term",
        "invalid value in nodeSelector",
    ],
)
def test_unreadable_node_affinity_matches_no_node(spec: dict[str, Any]) -> None:
    """What cannot be read is passed over, so no node matches: Unschedulable, and eviction does not help."""
    text = f"0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. {NOT_HELPFUL}"
    assert outcome(decide(make_pod("p", spec=spec))) == ("Unschedulable", text)


def test_readable_terms_still_count() -> None:
    """Terms are alternatives: one that cannot be read does not spoil the others."""
    spec = _node_affinity(_expression("disk", "Near", "x"), _expression("kubernetes.io/hostname", "In", "b"))
    assert decide(make_pod("p", spec=spec)).node_name == "b"


def test_unreadable_preference_is_an_error() -> None:
    """Preferred terms are read in PreScore, which fails; with one feasible node nobody reads them."""
    term = {"weight": 1, "preference": _expression("disk", "Near", "x")}
    spec = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}}
    assert outcome(decide(make_pod("p", spec=spec))) == (
        "SchedulerError",
        'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].operator: Unsupported value: "Near": '
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
    )
    assert decide(make_pod("p", spec=spec), make_node("a")).node_name == "a"


# --- pod affinity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "text"),
    [(NEAR, NEAR_TEXT), (IN_NOTHING, IN_NOTHING_TEXT), (BAD_VALUE, BAD_VALUE_TEXT)],
    ids=["unknown operator", "In without values", "invalid value"],
)
@pytest.mark.parametrize(
    ("kind", "strength", "title"),
    [
        ("podAffinity", "required", "requiredAffinityTerms"),
        ("podAntiAffinity", "required", "requiredAntiAffinityTerms"),
        ("podAffinity", "preferred", "preferredAffinityTerms"),
        ("podAntiAffinity", "preferred", "preferredAntiAffinityTerms"),
    ],
    ids=["affinity", "anti-affinity", "preferred affinity", "preferred anti-affinity"],
)
def test_unreadable_pod_affinity_rejects_the_pod(
    selector: dict[str, Any], text: str, kind: str, strength: str, title: str
) -> None:
    """InterPodAffinity's PreFilter turns the pod down with the reason; PostFilter finds nothing to work on."""
    term: dict[str, Any] = {"topologyKey": "zone", "labelSelector": selector}
    if strength == "preferred":
        term = {"weight": 1, "podAffinityTerm": term}
    spec = {"affinity": {kind: {f"{strength}DuringSchedulingIgnoredDuringExecution": [term]}}}
    message = f"0/2 nodes are available: parsing pod: {title}: {text}. not found"
    assert outcome(decide(make_pod("p", spec=spec))) == ("Unschedulable", message)


def test_several_unreadable_terms_are_listed() -> None:
    """Every list that cannot be read is named, as Go prints several errors."""
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", "labelSelector": NEAR}]}
    decision = decide(make_pod("p", spec={"affinity": {"podAffinity": terms, "podAntiAffinity": terms}}))
    assert decision.message == (
        "0/2 nodes are available: parsing pod: "
        f"[requiredAffinityTerms: {NEAR_TEXT}, requiredAntiAffinityTerms: {NEAR_TEXT}]. not found"
    )


def test_unreadable_namespace_selector() -> None:
    """A namespace selector is read like any other."""
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": NEAR}
    spec = {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    message = f"0/2 nodes are available: parsing pod: requiredAffinityTerms: {NEAR_TEXT}. not found"
    assert outcome(decide(make_pod("p", spec=spec))) == ("Unschedulable", message)


def test_unreadable_terms_of_placed_pods_bind_nobody() -> None:
    """A pod on a node whose anti-affinity cannot be read stands in nobody's way."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": NEAR}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    placed = make_pod("placed", node_name="a", spec=spec)
    assert decide(make_pod("p"), make_node("a"), pods=[placed]).node_name == "a"


# --- topology spread ---------------------------------------------------------------------------------


def _spread(selector: Any, when: str, key: str = "kubernetes.io/hostname") -> dict[str, Any]:
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def test_unreadable_hard_constraint_is_an_error() -> None:
    """PreFilter of PodTopologySpread fails."""
    assert outcome(decide(make_pod("p", spec=_spread(NEAR, "DoNotSchedule")))) == (
        "SchedulerError",
        'running PreFilter plugin "PodTopologySpread": get constraints from pod: '
        f"obtaining pod's hard topology spread constraints: {NEAR_TEXT}",
    )


def test_unreadable_soft_constraint_is_an_error_when_scored() -> None:
    """PreScore fails; with one feasible node nobody reads the constraint."""
    pod = make_pod("p", spec=_spread(NEAR, "ScheduleAnyway"))
    assert outcome(decide(pod)) == (
        "SchedulerError",
        'running PreScore plugin "PodTopologySpread": calculating preScoreState: '
        f"obtaining pod's soft topology spread constraints: {NEAR_TEXT}",
    )
    assert decide(pod, make_node("a")).node_name == "a"


# --- topology keys that no node has ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (
            _spread({}, "DoNotSchedule", "no-such-key"),
            "node(s) didn't match pod topology spread constraints (missing required label)",
        ),
        (
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "no-such-key", "labelSelector": {"matchLabels": {"app": "web"}}}
                        ]
                    }
                }
            },
            "node(s) didn't match pod affinity rules",
        ),
    ],
    ids=["hard spread", "required affinity"],
)
def test_topology_key_that_no_node_has(spec: dict[str, Any], reason: str) -> None:
    """A rule over domains that do not exist cannot be kept anywhere, whoever is evicted."""
    message = f"0/2 nodes are available: 2 {reason}. {NOT_HELPFUL}"
    assert outcome(decide(make_pod("p", labels={"app": "web"}, spec=spec))) == ("Unschedulable", message)


@pytest.mark.parametrize(
    "spec",
    [
        _spread({}, "ScheduleAnyway", "no-such-key"),
        {
            "affinity": {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "no-such-key", "labelSelector": {"matchLabels": {"app": "web"}}}
                    ]
                }
            }
        },
    ],
    ids=["soft spread", "anti-affinity"],
)
def test_topology_key_that_does_not_matter(spec: dict[str, Any]) -> None:
    """Preferences and prohibitions over domains that do not exist keep nobody out."""
    assert decide(make_pod("p", labels={"app": "web"}, spec=spec)).n_feasible == 2


# --- quantities --------------------------------------------------------------------------------------


def test_negative_request_breaks_the_score() -> None:
    """A negative request fits everywhere, and scores beyond 100, which ends the attempt."""
    pod = make_pod("p", cpu="-1")
    assert outcome(decide(pod)) == (
        "SchedulerError",
        'applying score defaultWeights on Score plugins: plugin "NodeResourcesFit" returns an invalid score 112, '
        "it should in the range of [0, 100] after normalizing",
    )
    assert decide(pod, make_node("a")).node_name == "a"


def test_negative_request_of_another_resource() -> None:
    """What nobody scores does not matter."""
    assert decide(make_pod("p", requests={"example.com/gpu": "-1"})).n_feasible == 2


@pytest.mark.parametrize("amount", ["99999999999999999999", "9Ei"])
def test_huge_requests_fit_nowhere(amount: str) -> None:
    """Amounts beyond 64 bits are the largest amount there is."""
    decision = decide(make_pod("p", memory=amount))
    assert decision.message == f"0/2 nodes are available: 2 Insufficient memory. {NOT_HELPFUL}"


def test_exponent_beyond_64_bits_is_nothing() -> None:
    """Go reads such an amount as 0 (positiveScaleInt64 gives up), and so the pod fits."""
    assert decide(make_pod("p", memory="1e30")).n_feasible == 2


@pytest.mark.parametrize("amount", ["one", "1Zi", "", "1.2.3", "0x10"])
def test_unreadable_request_costs_the_pod_its_attempt(amount: str) -> None:
    """Go cannot even decode such a pod; here the pod's own attempt fails, with its name and the quantity."""
    decision = decide(make_pod("p", requests={"cpu": amount}))
    reason, message = outcome(decision)
    assert reason == "SchedulerError"
    assert message.startswith(
        f"running PreFilter plugin \"NodeResourcesFit\": Pod default/p: invalid quantity '{amount}'"
    )


def test_unreadable_request_on_a_node_is_refused_whole() -> None:
    """A placed pod with such a quantity is refused by the cache, which is then as it was before."""
    harness = Harness(nodes=[make_node("a")])
    broken = make_pod("broken", cpu="one", node_name="a")
    with pytest.raises(ObjectError, match="Pod default/broken: invalid quantity 'one'"):
        harness.add(broken)
    assert harness.core.cache.n_pods == 0
    harness.core.cache.remove_pod(broken.uid)
    assert harness.decide(make_pod("p", cpu="4")).node_name == "a"


# --- claims ------------------------------------------------------------------------------------------


def test_claim_that_does_not_exist() -> None:
    """VolumeBinding turns the pod down by name; eviction does not bring the claim."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}]
    assert outcome(decide(make_pod("p", spec={"volumes": volumes}))) == (
        "Unschedulable",
        '0/2 nodes are available: persistentvolumeclaim "nowhere" not found. not found',
    )


# --- nodes -------------------------------------------------------------------------------------------


def test_node_without_allocatable() -> None:
    """A node that offers nothing has no room, not even for a pod that requests nothing."""
    bare = Node.from_dict({"metadata": {"name": "bare"}})
    assert decide(make_pod("p", cpu="1"), bare).message == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Too many pods. "
        "preemption: 0/1 nodes are available: "
        "1 Preemption is not helpful for scheduling."
    )
    assert decide(make_pod("p"), bare).message == (
        "0/1 nodes are available: 1 Too many pods. "
        "preemption: 0/1 nodes are available: "
        "1 No preemption victims found for incoming pod."
    )


def test_node_with_negative_amounts() -> None:
    """A node that offers less than nothing has no room for a pod that requests something."""
    decision = decide(make_pod("p", cpu="1"), make_node("a", cpu="-4"))
    assert decision.message.startswith("0/1 nodes are available: 1 Insufficient cpu. ")


def test_node_with_unreadable_amounts_is_refused_whole() -> None:
    """The cache refuses it by name and goes on with the nodes it has."""
    harness = Harness(nodes=[make_node("a")])
    with pytest.raises(ObjectError, match=r"Node b: status\.allocatable: invalid quantity 'many'"):
        harness.add(make_node("b", cpu="many"))
    with pytest.raises(ObjectError, match="Node a"):
        harness.add(make_node("a", cpu="many", unschedulable=True))
    assert harness.core.cache.n_nodes == 1
    assert harness.decide(make_pod("p", cpu="4")).node_name == "a"


def test_taint_with_an_unknown_effect() -> None:
    """An effect that nobody knows keeps nobody out."""
    assert decide(make_pod("p"), make_node("a", taints=["key=value:Odd"])).node_name == "a"


def test_toleration_with_an_unknown_operator() -> None:
    """An operator that nobody knows tolerates nothing."""
    pod = make_pod("p", spec={"tolerations": [{"key": "key", "operator": "Near", "value": "value"}]})
    decision = decide(pod, make_node("a", taints=["key=value:NoSchedule"]))
    assert decision.message.startswith("0/1 nodes are available: 1 node(s) had untolerated taint(s). ")


# --- pods --------------------------------------------------------------------------------------------


def test_pod_without_containers() -> None:
    """A pod that requests nothing at all fits everywhere."""
    pod = Pod.from_dict(
        {
            "metadata": {"name": "p", "namespace": "default", "uid": "1"},
            "spec": {"schedulerName": "default-scheduler", "containers": []},
        }
    )
    assert Harness(nodes=[make_node("a")]).decide(pod).node_name == "a"


def test_pod_of_another_scheduler() -> None:
    """A schedulerName that no profile has is somebody else's pod; the harness says so by name."""
    harness = Harness(nodes=[make_node("a")])
    assert "nobody" not in harness.core.profiles
    with pytest.raises(LookupError, match="no profile 'nobody'; there are: default-scheduler"):
        harness.decide(make_pod("p", scheduler_name="nobody"))
