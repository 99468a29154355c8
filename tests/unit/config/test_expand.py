"""Expansion: which plugins run at each extension point, in which order, with which weight."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.config.plugin_facts import POINTS, WEIGHTS, facts, loaded, refusal

from bayplan.config import EXTENSION_POINTS, ConfigError

A = facts("A", "filter score")
B = facts("B", "filter score")


def point(text: str, name: str) -> list[str]:
    """The plugins at a point, `name=weight` where they have one."""
    (profile,) = loaded(f"profiles: [{{plugins: {text}}}]", A, B).profiles
    return [f"{p.name}={p.weight}" if p.weight else p.name for p in profile.points[name]]


DEFAULT_SCORES = [
    "TaintToleration=3",
    "NodeAffinity=2",
    "NodeResourcesFit=1",
    "VolumeBinding=1",
    "PodTopologySpread=2",
    "InterPodAffinity=2",
    "DynamicResources=2",
    "NodeResourcesBalancedAllocation=1",
    "ImageLocality=1",
]


def without(*names: str) -> list[str]:
    return [score for score in DEFAULT_SCORES if score.split("=")[0] not in names]


@pytest.mark.parametrize(
    ("plugins", "scores"),
    [
        pytest.param("{}", DEFAULT_SCORES, id="defaults"),
        pytest.param(
            "{score: {enabled: [{name: A, weight: 5}]}}", [*DEFAULT_SCORES, "A=5"], id="one more at the point"
        ),
        pytest.param(
            "{score: {enabled: [{name: A}, {name: ImageLocality, weight: 7}]}}",
            ["ImageLocality=7", *without("ImageLocality"), "A=1"],
            id="a default overridden at the point runs first",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: ImageLocality, weight: 7}]}}",
            [*without("ImageLocality"), "ImageLocality=7"],
            id="a default reconfigured in multiPoint stays in place",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: A, weight: 3}]}, score: {enabled: [{name: A, weight: 4}]}}",
            ["A=4", *DEFAULT_SCORES],
            id="the point takes precedence over multiPoint",
        ),
        pytest.param(
            "{score: {disabled: [{name: NodeAffinity}]}}", without("NodeAffinity"), id="disabled at the point"
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: NodeAffinity}]}}", without("NodeAffinity"), id="disabled everywhere"
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity}]}}",
            [*without("NodeAffinity"), "NodeAffinity=1"],
            id="disabled and enabled again moves to the end",
        ),
        pytest.param("{score: {disabled: [{name: '*'}]}}", [], id="a star at the point"),
        pytest.param(
            "{score: {disabled: [{name: '*'}], enabled: [{name: B}, {name: A, weight: 2}]}}",
            ["B=1", "A=2"],
            id="a star and own plugins",
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name:"
            " DefaultBinder}, {name: B}]}}",
            ["B=1"],
            id="a star in multiPoint",
        ),
        pytest.param(
            "{score: {enabled: [{name: ImageLocality, weight: -1}]}, multiPoint: {disabled: [{name: '*'}],"
            " enabled: [{name: PrioritySort}, {name: DefaultBinder}]}}",
            ["ImageLocality=-1"],
            id="a negative weight with nothing after it is let through",
        ),
    ],
)
def test_scores(plugins: str, scores: list[str]) -> None:
    """A point's own list, then what multiPoint names, then the defaults; weight 0 means 1."""
    assert point(plugins, "score") == scores


def test_multi_point_reaches_all_points_of_a_plugin() -> None:
    """A plugin enabled in multiPoint is on every extension point that it has."""
    plugins = "{multiPoint: {enabled: [{name: A}]}}"

    assert point(plugins, "filter")[-1] == "A"
    assert point(plugins, "score")[-1] == "A=1"
    assert "A" not in point(plugins, "preFilter")


@pytest.mark.parametrize(
    ("plugins", "said"),
    [
        pytest.param(
            "{score: {enabled: [{name: NodeResourceFit}]}}",
            'profiles[0].plugins.score.enabled[0]: there is no plugin "NodeResourceFit"; '
            'did you mean "NodeResourcesFit"',
            id="unknown at a point",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: A}, {name: Nope}]}}",
            'profiles[0].plugins.multiPoint.enabled[1]: there is no plugin "Nope"',
            id="unknown in multiPoint",
        ),
        pytest.param(
            "{score: {enabled: [{name: '*'}]}}",
            'profiles[0].plugins.score.enabled[0]: there is no plugin "*"; "*" is possible under disabled only',
            id="a star enabled",
        ),
        pytest.param(
            "{filter: {enabled: [{name: Extender}]}}",
            'there is no plugin "Extender"; an extender is not a plugin: it is configured under'
            " the top-level extenders",
            id="an extender as a plugin",
        ),
        pytest.param(
            "{score: {enabled: [{name: NodeName}]}}",
            'profiles[0].plugins.score.enabled[0]: the plugin "NodeName" is not a score plugin; it is on filter',
            id="not on the point",
        ),
        pytest.param(
            "{score: {enabled: [{name: A}, {name: A}]}}",
            'profiles[0].plugins.score.enabled[1]: the plugin "A" is enabled twice for score',
            id="twice at a point",
        ),
        pytest.param(
            "{multiPoint: {enabled: [{name: A}, {name: A}]}}",
            'profiles[0].plugins.multiPoint.enabled[1]: the plugin "A" is enabled twice for filter',
            id="twice in multiPoint",
        ),
        pytest.param(
            "{multiPoint: {disabled: [{name: PrioritySort}]}}",
            'profiles[0].plugins.queueSort: the profile "default-scheduler" needs exactly one queue sort plugin; '
            "it has none",
            id="no queue sort",
        ),
        pytest.param(
            "{bind: {disabled: [{name: '*'}]}}",
            'profiles[0].plugins.bind: the profile "default-scheduler" needs at least one bind plugin',
            id="no bind",
        ),
        pytest.param(
            "{score: {enabled: [{name: A, weight: -1}]}}",
            "profiles[0].plugins.score: the weights are negative or so large that the total score could overflow",
            id="a negative weight among others",
        ),
    ],
)
def test_profiles_that_cannot_be_built(plugins: str, said: str) -> None:
    """The error names the entry as the user wrote it, and what would be right."""
    lines = refusal(f"profiles: [{{plugins: {plugins}}}]", A, B)

    assert any(said in line for line in lines), lines


def test_an_unknown_plugin_hides_no_count() -> None:
    """If a plugin is unknown, nobody can say whether a queue sort plugin is missing."""
    lines = refusal("profiles: [{plugins: {multiPoint: {disabled: [{name: '*'}], enabled: [{name: Nope}]}}}]")

    assert len(lines) == 1


def test_profiles_must_share_the_queue_sort_plugin() -> None:
    """Also when they come to it by different ways."""
    lines = refusal(
        "profiles: [{schedulerName: a}, {schedulerName: b, plugins: {multiPoint: {disabled:"
        " [{name: PrioritySort}],"
        " enabled: [{name: Mine}]}}}]",
        facts("Mine", "queueSort"),
    )

    assert "profiles[1].plugins.queueSort: this profile sorts the queue with Mine" in lines[0]


NAMES = list(POINTS)
PLUGIN_LISTS = st.lists(st.sampled_from(NAMES), max_size=5, unique=True)


@given(PLUGIN_LISTS, PLUGIN_LISTS, st.booleans())
def test_expansion_holds_its_promises(enabled: list[str], disabled: list[str], star: bool) -> None:
    """Whatever multiPoint says: no plugin twice, none off its points, none that is disabled and not enabled."""
    names = [*disabled, "*"] if star else disabled
    plugins = {
        "multiPoint": {"enabled": [{"name": n} for n in enabled], "disabled": [{"name": n} for n in names]},
        "queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]},
        "bind": {"enabled": [{"name": "DefaultBinder"}], "disabled": [{"name": "*"}]},
    }
    try:
        (profile,) = loaded("profiles: " + json.dumps([{"plugins": plugins}])).profiles
    except ConfigError as error:
        raise AssertionError(str(error)) from error

    on = set(enabled) | (set(WEIGHTS) - set(disabled) if not star else set())
    for name in EXTENSION_POINTS:
        ran = [plugin.name for plugin in profile.points[name]]
        assert len(set(ran)) == len(ran)
        assert all(name in POINTS[plugin].split() for plugin in ran)
        expected = {plugin for plugin in on if name in POINTS[plugin].split()}
        assert expected <= set(ran)
        if name not in ("queueSort", "bind"):
            assert not (set(disabled) - set(enabled)) & set(ran)
