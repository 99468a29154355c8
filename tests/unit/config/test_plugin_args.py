"""Arguments of third-party plugins, and plugins that are named by where their class is."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import pytest
from tests.unit.config.plugin_facts import HEAD, TableCatalogue, facts, loaded, refusal

from bayplan.config import FieldError, Path, PluginFacts, PluginNotLoaded, load
from bayplan.config.args import Args, ResourceSpec


class AllocatableArgs(Args):
    """What a plugin author writes."""

    mode: Literal["Least", "Most"] = "Least"
    resources: tuple[ResourceSpec, ...] = ()

    def validate(self, path: Path) -> list[FieldError]:
        if self.mode == "Most" and not self.resources:
            return [FieldError(path / "resources", "Most needs resources")]
        return []


ALLOCATABLE = facts("Allocatable", "score", AllocatableArgs)


def config(args: str) -> str:
    return (
        "profiles:\n- plugins: {score: {enabled: [{name: Allocatable}]}}\n"
        f"  pluginConfig:\n  - name: Allocatable\n    args: {args}\n"
    )


def test_arguments_are_decoded_into_the_class() -> None:
    """The plugin gets an object of its own class."""
    (profile,) = loaded(config("{mode: Most, resources: [{name: cpu, weight: 5}]}"), ALLOCATABLE).profiles

    assert profile.args["Allocatable"] == AllocatableArgs(
        mode="Most", resources=(ResourceSpec(name="cpu", weight=5),)
    )


def test_defaults_without_plugin_config() -> None:
    """An enabled plugin that is given nothing gets the defaults of its class, and shows them."""
    result = loaded("profiles: [{plugins: {score: {enabled: [{name: Allocatable}]}}}]", ALLOCATABLE)

    assert result.profiles[0].args["Allocatable"] == AllocatableArgs()
    assert {
        "name": "Allocatable",
        "args": {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "AllocatableArgs",
            "mode": "Least",
            "resources": [],
        },
    } in result.effective()["profiles"][0]["pluginConfig"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("{mod: Most}", 'args.mod: unknown field; did you mean "mode"?'),
        ("{mode: Highest}", 'args.mode: the string "Highest" is not one of "Least" or "Most"'),
        ("{resources: cpu}", 'args.resources: the string "cpu" is not a list'),
        ("{mode: Most}", "args.resources: Most needs resources"),
        ("[]", "args: a list is not a mapping"),
        ("{kind: OtherArgs}", 'args.kind: the arguments of Allocatable have the kind "AllocatableArgs"'),
        ("{apiVersion: kubescheduler.config.k8s.io/v1beta3}", "args.apiVersion: "),
    ],
)
def test_wrong_arguments(args: str, said: str) -> None:
    """A third-party plugin gets the same errors, with line and path, as the default ones."""
    (line,) = refusal(config(args), ALLOCATABLE)

    assert line.startswith("scheduler.yaml:7: profiles[0].pluginConfig[0].")
    assert said in line


def test_a_plugin_without_a_class_takes_anything() -> None:
    """Arguments nobody declared are handed over as they are."""
    result = loaded(config("{a: [1, {b: yes}]}"), facts("Allocatable", "score"))

    assert result.profiles[0].args["Allocatable"] == {"a": [1, {"b": True}]}


def test_arguments_of_a_plugin_that_nobody_has() -> None:
    """kube-scheduler ignores them; we say so."""
    result = loaded("profiles: [{pluginConfig: [{name: NodeResourceFit, args: {a: 1}}]}]")

    assert [str(warning) for warning in result.warnings] == [
        'scheduler.yaml:3: profiles[0].pluginConfig[0]: there is no plugin "NodeResourceFit"; '
        'its arguments are ignored; did you mean "NodeResourcesFit"?'
    ]


def test_disabling_a_plugin_that_nobody_has() -> None:
    """The same under disabled."""
    (warning,) = loaded("profiles: [{plugins: {score: {disabled: [{name: ImageLocal}]}}}]").warnings

    assert 'there is no plugin "ImageLocal" to disable; did you mean "ImageLocality"?' in str(warning)


class FileCatalogue(TableCatalogue):
    """Knows one class in a file."""

    def lookup(self, name: str) -> PluginFacts | None:
        if name == "mine.py:Mine":
            self._facts["Own"] = facts("Own", "filter", AllocatableArgs)
            return self._facts["Own"]
        if name.startswith("broken.py:"):
            raise PluginNotLoaded("broken.py does not load: line 3: NameError: x")
        return super().lookup(name)


def test_a_reference_becomes_the_name_of_the_plugin() -> None:
    """The effective configuration has the name that the class gives itself."""
    text = HEAD + (
        "profiles: [{plugins: {filter: {enabled: [{name: 'mine.py:Mine'}]}},"
        " pluginConfig: [{name: 'mine.py:Mine', args: {mode: Most, resources: [{name: cpu}]}}]}]\n"
    )
    result = load(text, source="s", catalogue=FileCatalogue())

    assert result.profiles[0].points["filter"][-1].name == "Own"
    assert result.profiles[0].args["Own"].mode == "Most"
    assert result.effective()["profiles"][0]["plugins"]["filter"] == {"enabled": [{"name": "Own", "weight": 0}]}


def test_a_reference_that_does_not_load() -> None:
    """The reason is the plugin's own, at the place where it is named."""
    text = HEAD + "profiles: [{plugins: {filter: {enabled: [{name: 'broken.py:Mine'}]}}}]\n"
    with pytest.raises(Exception, match="line 3: NameError") as caught:
        load(text, source="s", catalogue=FileCatalogue())

    assert str(caught.value).startswith("s:3: profiles[0].plugins.filter.enabled[0]: broken.py does not load")


class Collected(Args):
    """Collections with defaults, as an author would write them."""

    names: list[str] = ["a"]  # noqa: RUF012
    weights: dict[str, int] = {"cpu": 1}  # noqa: RUF012
    zones: set[str] = dataclasses.field(default_factory=lambda: {"z"})
    ports: Sequence[int] = (1, 2)
    free: Any = None
    LIMITS: ClassVar[dict[str, int]] = {"most": 3}


COLLECTED = facts("Collected", "score", Collected)


def collected(args: str) -> Collected:
    (profile,) = loaded(config(args).replace("Allocatable", "Collected"), COLLECTED).profiles
    found = profile.args["Collected"]
    assert isinstance(found, Collected)
    return found


def test_mutable_defaults_are_understood() -> None:
    """Each object has its own; what belongs to the class stays there."""
    first, second = Collected(), Collected()
    assert (first.names, first.weights, first.zones) == (["a"], {"cpu": 1}, {"z"})
    first.names.append("b")
    assert second.names == ["a"]
    assert Collected.LIMITS == {"most": 3}
    assert collected("{names: null}") == Collected()


def test_collections_are_decoded() -> None:
    """Into what the annotation says."""
    args = collected("{names: [x, b], weights: {gpu: 2}, zones: [q], ports: [8], free: {any: [thing]}}")
    assert args == Collected(
        names=["x", "b"], weights={"gpu": 2}, zones={"q"}, ports=(8,), free={"any": ["thing"]}
    )


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param("{names: x}", 'args.names: the string "x" is not a list', id="a text for a list"),
        pytest.param(
            "{names: [1]}", "args.names[0]: the number 1 is not a string", id="a number in a list of texts"
        ),
        pytest.param("{weights: [1]}", "args.weights: a list is not a mapping", id="a list for a mapping"),
    ],
)
def test_wrong_collections(args: str, said: str) -> None:
    (line,) = refusal(config(args).replace("Allocatable", "Collected"), COLLECTED)
    assert said in line
