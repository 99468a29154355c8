"""JSON is decoded into structs as by Go's encoding/json."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.extender import gojson
from bayplan.extender.wire import (
    ExtenderArgs,
    ExtenderFilterResult,
    ExtenderPreemptionResult,
    HostPriority,
    HostPriorityList,
    MetaPod,
    MetaVictims,
)


def read(text: str | bytes, kind: type[Any] = ExtenderFilterResult) -> Any:
    return gojson.decode(text if isinstance(text, bytes) else text.encode(), kind)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("{}", ExtenderFilterResult(), id="nothing given"),
        pytest.param("null", ExtenderFilterResult(), id="null"),
        pytest.param('{"NodeNames": ["a"]}', ExtenderFilterResult(NodeNames=("a",)), id="as Go writes it"),
        pytest.param('{"nodenames": ["a"]}', ExtenderFilterResult(NodeNames=("a",)), id="lower case"),
        pytest.param('{"NODENAMES": ["a"]}', ExtenderFilterResult(NodeNames=("a",)), id="upper case"),
        pytest.param(
            '{"nodeNames": ["a"], "x": [{}]}', ExtenderFilterResult(NodeNames=("a",)), id="unknown field"
        ),
        pytest.param('{"NodeNames": []}', ExtenderFilterResult(NodeNames=()), id="an empty list is no null"),
        pytest.param('{"NodeNames": null}', ExtenderFilterResult(), id="a pointer may be null"),
        pytest.param('{"NodeNames": ["a", null]}', ExtenderFilterResult(NodeNames=("a", "")), id="null is zero"),
        pytest.param('{"Error": null}', ExtenderFilterResult(), id="null leaves a string alone"),
        pytest.param(
            '{"Error": "x", "error": null}', ExtenderFilterResult(Error="x"), id="null does not take back"
        ),
        pytest.param('{"Error": "x", "error": "y"}', ExtenderFilterResult(Error="y"), id="the last one counts"),
        pytest.param(
            '{"FailedNodes": {"a": "1"}, "failednodes": {"b": "2"}}',
            ExtenderFilterResult(FailedNodes={"a": "1", "b": "2"}),
            id="maps are added to",
        ),
        pytest.param(
            '{"FailedNodes": {"a": "1"}, "failednodes": null}', ExtenderFilterResult(), id="null empties a map"
        ),
        pytest.param(' \n{"Error": "x"} rubbish', ExtenderFilterResult(Error="x"), id="what follows is ignored"),
        pytest.param('{"Error": "\\ud800"}', ExtenderFilterResult(Error="\ufffd"), id="half a character"),
        pytest.param(b'{"Error": "\xff"}', ExtenderFilterResult(Error="\ufffd"), id="not UTF-8"),
    ],
)
def test_filter_results(text: str | bytes, expected: ExtenderFilterResult) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[]", (), id="empty"),
        pytest.param("null", (), id="null"),
        pytest.param('[{"host": "a", "SCORE": 3}]', (HostPriority(Host="a", Score=3),), id="any case"),
        pytest.param("[null]", (HostPriority(),), id="null is a zero value"),
        pytest.param('[{"Score": -9223372036854775808}]', (HostPriority(Score=-(2**63)),), id="the least number"),
    ],
)
def test_host_priorities(text: str, expected: HostPriorityList) -> None:
    assert read(text, HostPriorityList) == expected


def test_victims_may_be_null() -> None:
    """They are pointers in Go; the decoder does not interpret them."""
    text = '{"NodeNameToMetaVictims": {"a": null, "b": {"pods": [null, {"uid": "u"}], "numpdbviolations": 2}}}'

    assert read(text, ExtenderPreemptionResult).NodeNameToMetaVictims == {
        "a": None,
        "b": MetaVictims(Pods=(None, MetaPod(UID="u")), NumPDBViolations=2),
    }


def test_objects_are_read_in_any_case_at_every_depth() -> None:
    """And kept whole, unknown fields included, for the next extender."""
    text = '{"nodes": {"ITEMS": [{"Metadata": {"NAME": "a", "Labels": {"K": "v"}}, "spec": {"podCIDR": "x"}}]}}'

    (node,) = read(text).Nodes.items

    assert (node.name, node.labels) == ("a", {"K": "v"})
    assert node.raw == {"metadata": {"name": "a", "labels": {"K": "v"}}, "spec": {"podCIDR": "x"}}


def test_pods_of_requests_are_objects() -> None:
    args = read('{"pod": {"metadata": {"name": "p"}}, "nodenames": ["a"]}', ExtenderArgs)

    assert (args.Pod.name, args.NodeNames, args.Nodes) == ("p", ("a",), None)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("", "EOF", id="empty"),
        pytest.param(" \n", "EOF", id="blanks"),
        pytest.param('{"Error": "x', "unexpected EOF", id="cut in a string"),
        pytest.param('{"Error": ', "unexpected EOF", id="cut before a value"),
        pytest.param("{not json", "invalid character 'n'", id="not JSON"),
        pytest.param("NaN", "invalid character 'N'", id="not a number of JSON"),
        pytest.param('{"x": -Infinity}', "invalid character '-'", id="nor in a field"),
        pytest.param(
            "[1]", "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult", id="array"
        ),
        pytest.param('"x"', "json: cannot unmarshal string into Go value", id="a string"),
        pytest.param('{"Error": 1}', "json: cannot unmarshal number into Go struct field", id="not a string"),
        pytest.param('{"NodeNames": {}}', "json: cannot unmarshal object into Go struct field", id="not a list"),
        pytest.param(
            '{"FailedNodes": {"a": true}}', "json: cannot unmarshal bool into", id="not a map of strings"
        ),
        pytest.param('{"Nodes": {"items": [{"spec": []}]}}', "json: Node: spec", id="not a node"),
        pytest.param("[" * 100_000, "exceeded max depth", id="too deep"),
        pytest.param('{"x": ' + "1" * 5000 + "}", "a number is too long", id="too long a number"),
    ],
)
def test_what_cannot_be_read(text: str, error: str) -> None:
    with pytest.raises(gojson.GoJsonError) as raised:
        read(text)

    assert str(raised.value).startswith(error)


@pytest.mark.parametrize("score", ["1.0", "1e2", "9223372036854775808", '"1"', "true"])
def test_scores_are_whole_numbers_of_64_bits(score: str) -> None:
    """Go reads neither `1.0` nor `1e2` into an integer."""
    with pytest.raises(gojson.GoJsonError, match="cannot unmarshal"):
        read(f'[{{"Score": {score}}}]', HostPriorityList)
