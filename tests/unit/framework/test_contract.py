"""A plugin class that breaks the contract is refused when it is loaded, in words for its author."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.framework import Args, Plugin, PluginError, check_class


class Good(Plugin):
    name = "Good"

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        return None


def test_points_follow_from_methods() -> None:
    """A plugin is on the extension points whose methods it defines, in Kubernetes' order."""

    class Everywhere(Plugin):
        name = "Everywhere"

        def permit(self, state: Any, pod: Any, node_name: str) -> None: ...
        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any: ...
        def pre_filter(self, state: Any, pod: Any) -> None: ...  # type: ignore[override]
        async def bind(self, state: Any, pod: Any, node_name: str) -> None: ...

    assert check_class(Everywhere) == ("preFilter", "score", "permit", "bind")


def test_inherited_methods_count() -> None:
    """A subclass is on the points of its parents."""

    class Child(Good):
        name = "Child"

    assert check_class(Child) == ("filter",)


def _misspelt(method: str) -> type[Plugin]:
    return type("Misspelt", (Good,), {"name": "Misspelt", method: lambda self, state, pod: None})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("prefilter", "pre_filter"),
        ("preFilter", "pre_filter"),
        ("PostFilter", "post_filter"),
        ("filter_node", "filter_nodes"),
        ("normalise_score", "normalize_score"),
        ("score_extensions", "normalize_score"),
        ("prebind", "pre_bind"),
        ("un_reserve", "unreserve"),
    ],
)
def test_misspelt_extension_point_is_refused(written: str, meant: str) -> None:
    """A method that looks like an extension point and is none would never be called."""
    with pytest.raises(PluginError) as refused:
        check_class(_misspelt(written))
    assert str(refused.value) == (
        f"plugin Misspelt: method {written} is no extension point; did you mean {meant}? "
        f"(a helper of your own: call it _{written})"
    )


def test_helper_methods_are_allowed() -> None:
    """Public methods that resemble nothing of ours are the author's business."""
    assert check_class(type("Helped", (Good,), {"name": "Helped", "count_lights": lambda self: 1})) == ("filter",)


class NoName(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


class Wildcard(Good):
    name = "*"


class NumberedName(Good):
    name = 7  # type: ignore[assignment]


class WrongArguments(Plugin):
    name = "WrongArguments"

    def filter(self, pod: Any, node: Any) -> None: ...  # type: ignore[override]


class TooManyArguments(Plugin):
    name = "TooManyArguments"

    def score(self, ctx: Any, state: Any, pod: Any, node: Any) -> Any: ...  # type: ignore[override]


class NotAsync(Plugin):
    name = "NotAsync"

    def bind(self, state: Any, pod: Any, node_name: str) -> None: ...  # type: ignore[override]


class NotPlain(Plugin):
    name = "NotPlain"

    async def filter(self, state: Any, pod: Any, node: Any) -> None: ...  # type: ignore[override]


class BothForms(Good):
    name = "BothForms"

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any: ...


class LoneCompanion(Good):
    name = "LoneCompanion"

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any: ...  # type: ignore[override]


class HalfExtensions(Good):
    name = "HalfExtensions"

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None: ...
    def add_pod(self, state: Any, pod: Any, pod_to_add: Any, node: Any) -> None: ...


class NoPoints(Plugin):
    name = "NoPoints"


class OddArgs(Good):
    name = "OddArgs"
    Args = dict  # type: ignore[assignment]


class Lights(Args):
    lights: int = 1


class OtherArgs(Plugin[Lights]):
    name = "OtherArgs"
    Args = type("Signs", (Args,), {})

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


class ArgsOfAnotherKind(Plugin[dict]):  # type: ignore[type-arg,type-var]
    name = "ArgsOfAnotherKind"

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (NoName, 'plugin class NoName has no name; add  name = "NoName"  to the class'),
        (
            Wildcard,
            'plugin class Wildcard: \'*\' cannot be a plugin\'s name; leave out "*", ":" and surrounding spaces',
        ),
        (NumberedName, "plugin class NumberedName: name must be a string, not 7"),
        (
            WrongArguments,
            "plugin WrongArguments: filter takes (self, pod, node), but is called with (self, state, pod, node)",
        ),
        (
            TooManyArguments,
            "plugin TooManyArguments: score takes (self, ctx, state, pod, node), "
            "but is called with (self, state, pod, node)",
        ),
        (NotAsync, "plugin NotAsync: bind must be async def: it is part of the binding cycle"),
        (NotPlain, "plugin NotPlain: filter must be plain def: it is part of the scheduling cycle"),
        (
            BothForms,
            "plugin BothForms: defines both filter and filter_nodes; these are two forms of Filter, keep one",
        ),
        (
            LoneCompanion,
            "plugin LoneCompanion: defines normalize_score without score or score_nodes, "
            "so it would never be called",
        ),
        (
            HalfExtensions,
            "plugin HalfExtensions: defines add_pod alone; define add_pod and remove_pod, or neither",
        ),
        (
            NoPoints,
            "plugin NoPoints: defines no extension point; define at least one method, for example "
            "filter(self, state, pod, node) or score(self, state, pod, node)",
        ),
        (OddArgs, "plugin OddArgs: Args must be a subclass of bayplan.Args, not <class 'dict'>"),
        (
            OtherArgs,
            f"plugin OtherArgs: derives from Plugin[Lights], but its Args are {OtherArgs.Args!r}; leave out Args",
        ),
        (
            ArgsOfAnotherKind,
            "plugin ArgsOfAnotherKind: Args must be a subclass of bayplan.Args, not <class 'dict'>",
        ),
        (int, "class int is not a plugin; derive it from bayplan.Plugin"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_broken_contract_names_the_mismatch(cls: type[Any], message: str) -> None:
    """The message names plugin, method and mismatch."""
    with pytest.raises(PluginError) as refused:
        check_class(cls)
    assert str(refused.value) == message


def test_message_tells_where_the_class_is() -> None:
    """A class from a file is reported with the file."""
    with pytest.raises(PluginError, match=r"^rules\.py: plugin class NoName has no name"):
        check_class(NoName, where="rules.py")


def test_args_are_declared_on_the_plugin() -> None:
    """A plugin with typed args passes."""

    class Typed(Good):
        name = "Typed"

        class Args(Args):
            lights: int = 1

    assert check_class(Typed) == ("filter",)
