"""Node selectors and node affinity, the pod's and the profile's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench

from bayplan.framework import Code, CycleState, Hint, PreFilterResult, Status
from bayplan.model import Pod
from bayplan.plugins.nodes.node_affinity import NodeAffinity
from bayplan.testing import make_node, make_pod

NOT_POD = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


def labels(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchExpressions": list(expressions)}


def names(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"matchFields": list(expressions)}


def required(*terms: dict[str, Any]) -> dict[str, Any]:
    return {REQUIRED: {"nodeSelectorTerms": list(terms)}}


def preferred(*terms: tuple[int, dict[str, Any]]) -> dict[str, Any]:
    return {PREFERRED: [{"weight": weight, "preference": term} for weight, term in terms]}


def pod_with(affinity: dict[str, Any] | None = None, **node_selector: str) -> Pod:
    spec: dict[str, Any] = {"nodeSelector": node_selector} if node_selector else {}
    if affinity is not None:
        spec["affinity"] = {"nodeAffinity": affinity}
    return make_pod("p", spec=spec)


def a_name(operator: str, *values: str) -> dict[str, Any]:
    return expression("metadata.name", operator, *values)


SSD = labels(expression("disk", "In", "ssd"))
NODES = [
    make_node("ssd-a", labels={"disk": "ssd", "zone": "a", "cores": "8"}),
    make_node("hdd-a", labels={"disk": "hdd", "zone": "a", "cores": "16"}),
    make_node("bare"),
]


@pytest.mark.parametrize(
    ("pod", "fitting"),
    [
        pytest.param(pod_with(disk="ssd"), {"ssd-a"}, id="node selector"),
        pytest.param(pod_with(disk="ssd", zone="b"), set(), id="all labels of the selector must match"),
        pytest.param(pod_with(required(SSD)), {"ssd-a"}, id="one term"),
        pytest.param(
            pod_with(required(SSD, labels(expression("disk", "In", "hdd")))),
            {"ssd-a", "hdd-a"},
            id="terms are ored",
        ),
        pytest.param(
            pod_with(required(labels(expression("zone", "Exists"), expression("cores", "Gt", "10")))),
            {"hdd-a"},
            id="expressions are anded",
        ),
        pytest.param(
            pod_with(required(labels(expression("disk", "NotIn", "ssd")))), {"hdd-a", "bare"}, id="NotIn"
        ),
        pytest.param(pod_with(required(labels(expression("disk", "DoesNotExist")))), {"bare"}, id="DoesNotExist"),
        pytest.param(pod_with(required(SSD), zone="b"), set(), id="selector and affinity must both match"),
        pytest.param(pod_with(required({})), set(), id="an empty term matches nothing"),
        pytest.param(pod_with(required()), set(), id="no terms match nothing"),
        pytest.param(pod_with(required(names(a_name("In", "bare")))), {"bare"}, id="a node by name"),
        pytest.param(pod_with(required(names(a_name("NotIn", "bare")))), {"ssd-a", "hdd-a"}, id="not that node"),
        pytest.param(
            pod_with(required(labels(expression("disk", "Like", "x")))),
            set(),
            id="an invalid term matches nothing",
        ),
        pytest.param(
            pod_with(required(labels(expression("disk", "Like", "x")), SSD)), {"ssd-a"}, id="beside a valid term"
        ),
    ],
)
def test_filter(pod: Pod, fitting: set[str]) -> None:
    """A node must carry the selector's labels and meet one required term; else it is rejected for good."""
    bench = Bench(NODES)
    rejected = bench.rejections(bench.plugin(NodeAffinity), pod)
    assert rejected == {node.name: NOT_POD for node in NODES if node.name not in fitting}


def test_pod_without_affinity_is_skipped() -> None:
    """Preferred terms are no reason to filter."""
    bench = Bench(NODES)
    plugin = bench.plugin(NodeAffinity)
    assert bench.pre_filter(plugin, pod_with()).is_skip
    assert bench.pre_filter(plugin, pod_with(preferred((1, SSD)))).is_skip


@pytest.mark.parametrize(
    ("terms", "result"),
    [
        pytest.param([names(a_name("In", "a"))], PreFilterResult(frozenset("a")), id="one name"),
        pytest.param(
            [names(a_name("In", "a")), {**names(a_name("In", "b")), **SSD}],
            PreFilterResult(frozenset("ab")),
            id="names of all terms",
        ),
        pytest.param([names(a_name("In", "a")), SSD], None, id="a term without a name lets all in"),
        pytest.param([names(a_name("NotIn", "a"))], None, id="NotIn names nobody"),
        pytest.param([names(a_name("In", "a"), a_name("In", "b"))], "conflict", id="two names at once"),
        pytest.param(
            [names(a_name("In", "a"), a_name("In", "b")), names(a_name("In", "c"))],
            PreFilterResult(frozenset("c")),
            id="a conflict in one term only",
        ),
    ],
)
def test_nodes_by_name_narrow_the_search(terms: list[dict[str, Any]], result: Any) -> None:
    """metadata.name In … tells which nodes to look at; names that exclude each other end the attempt."""
    bench = Bench(NODES)
    if result == "conflict":
        result = Status.unresolvable("pod affinity terms conflict")
    assert bench.pre_filter(bench.plugin(NodeAffinity), pod_with(required(*terms))) == result


def test_added_affinity_speaks_first() -> None:
    """A node that the profile excludes gets the profile's reason and no other."""
    bench = Bench(NODES)
    plugin = bench.plugin(NodeAffinity, {"addedAffinity": required(labels(expression("zone", "In", "a")))})
    assert bench.rejections(plugin, pod_with()) == {"bare": NOT_ENFORCED}
    assert bench.rejections(plugin, pod_with(disk="ssd")) == {"hdd-a": NOT_POD, "bare": NOT_ENFORCED}


def test_added_affinity_without_terms_excludes_all() -> None:
    bench = Bench(NODES)
    plugin = bench.plugin(NodeAffinity, {"addedAffinity": required()})
    assert set(bench.rejections(plugin, pod_with())) == {node.name for node in NODES}


def test_weights_of_matching_terms_add_up() -> None:
    """20 + 10 of at most 30 is 100; 10 of 30 is 33; terms that match nothing add nothing."""
    bench = Bench(NODES)
    zone_a = labels(expression("zone", "In", "a"))
    pod = pod_with(preferred((20, SSD), (10, zone_a), (50, labels(expression("zone", "In", "none")))))
    assert bench.scores(bench.plugin(NodeAffinity), pod) == {"ssd-a": 100, "hdd-a": 33, "bare": 0}


def test_added_preferences_score_too() -> None:
    """The profile's weights are added to the pod's, and count for pods without any of their own."""
    bench = Bench(NODES)
    hdd = labels(expression("disk", "In", "hdd"))
    plugin = bench.plugin(NodeAffinity, {"addedAffinity": preferred((30, hdd))})
    assert bench.scores(plugin, pod_with()) == {"ssd-a": 0, "hdd-a": 100, "bare": 0}
    assert bench.scores(plugin, pod_with(preferred((60, SSD)))) == {"ssd-a": 100, "hdd-a": 50, "bare": 0}


def test_no_preferences_are_not_scored() -> None:
    bench = Bench(NODES)
    assert bench.scores(bench.plugin(NodeAffinity), pod_with(required(SSD))) is None


def test_invalid_preference_is_an_error() -> None:
    """Unlike a required term, a preferred one that cannot be read ends the attempt."""
    bench = Bench(NODES)
    pod = pod_with(preferred((1, labels(expression("disk", "Like", "x")))))
    plugin = bench.plugin(NodeAffinity)
    status = plugin.pre_score(CycleState(), pod, bench.nodes)
    assert status is not None
    assert status.code is Code.ERROR
    assert plugin.sign(pod) is None


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        pytest.param(None, {"disk": "ssd"}, Hint.QUEUE, id="matching node added"),
        pytest.param(None, {"disk": "hdd"}, Hint.SKIP, id="other node added"),
        pytest.param({"disk": "hdd"}, {"disk": "ssd"}, Hint.QUEUE, id="begins to match"),
        pytest.param({"disk": "ssd"}, {"disk": "ssd", "x": "y"}, Hint.SKIP, id="matched before"),
        pytest.param(None, {"disk": "ssd", "off": "limits"}, Hint.SKIP, id="excluded by the profile"),
    ],
)
def test_hint(old: dict[str, str] | None, new: dict[str, str], hint: Hint) -> None:
    """A node helps when it comes to match the pod's affinity, and the profile's."""
    added = {"addedAffinity": required(labels(expression("off", "DoesNotExist")))}
    (event,) = Bench().plugin(NodeAffinity, added).events_to_register()
    assert event.hint is not None
    before = None if old is None else make_node("a", labels=old)
    assert event.hint(pod_with(required(SSD)), before, make_node("a", labels=new)) is hint


expressions = st.one_of(
    st.builds(
        lambda key, operator, values: expression(key, operator, *values),
        st.sampled_from("xy"),
        st.sampled_from(["In", "NotIn"]),
        st.lists(st.sampled_from("123"), min_size=1, max_size=2),
    ),
    st.builds(expression, st.sampled_from("xy"), st.sampled_from(["Exists", "DoesNotExist"])),
    st.builds(expression, st.sampled_from("xy"), st.sampled_from(["Gt", "Lt"]), st.sampled_from("123")),
)
terms = st.lists(st.lists(expressions, min_size=1, max_size=2).map(lambda each: labels(*each)), max_size=3)
node_labels = st.dictionaries(st.sampled_from("xy"), st.sampled_from("123"), max_size=2)


def meets(values: dict[str, str], requirement: dict[str, Any]) -> bool:
    value, wanted = values.get(requirement["key"]), requirement["values"]
    match requirement["operator"]:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and int(value) > int(wanted[0])
    return value is not None and int(value) < int(wanted[0])


@given(st.lists(node_labels, min_size=1, max_size=5), terms.filter(bool), terms, node_labels)
def test_columns_agree_with_the_rule_per_node(
    nodes: list[dict[str, str]],
    must: list[dict[str, Any]],
    would: list[dict[str, Any]],
    selector: dict[str, str],
) -> None:
    """Every node alone: the selector's labels and one term; the sum of the weights of the preferred terms."""
    bench = Bench(make_node(f"n{i}", labels=each) for i, each in enumerate(nodes))
    plugin = bench.plugin(NodeAffinity)
    weighted = [(10 * (i + 1), term) for i, term in enumerate(would)]
    pod = pod_with({**required(*must), **preferred(*weighted)}, **selector)

    def matches(values: dict[str, str], term: dict[str, Any]) -> bool:
        return all(meets(values, each) for each in term["matchExpressions"])

    fitting = [selector.items() <= each.items() and any(matches(each, term) for term in must) for each in nodes]
    assert set(bench.rejections(plugin, pod)) == {f"n{i}" for i, fits in enumerate(fitting) if not fits}
    raw = [sum(weight for weight, term in weighted if matches(each, term)) for each in nodes]
    scores = {f"n{i}": 100 * score // max(raw) if max(raw) else 0 for i, score in enumerate(raw)}
    assert bench.scores(plugin, pod) == (scores if would else None)
