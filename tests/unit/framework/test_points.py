"""The table of extension points: Kubernetes' names in Kubernetes' order, and every method once."""

from __future__ import annotations

from bayplan.framework import POINTS
from bayplan.framework.points import EXTRA_METHODS, METHODS, POINT_BY_NAME


def test_names_and_titles() -> None:
    """The title is the configuration's name with a capital letter."""
    assert [point.name for point in POINTS] == [
        "preEnqueue",
        "queueSort",
        "preFilter",
        "filter",
        "postFilter",
        "preScore",
        "score",
        "reserve",
        "permit",
        "preBind",
        "bind",
        "postBind",
    ]
    assert all(point.title == point.name[0].upper() + point.name[1:] for point in POINTS)
    assert POINT_BY_NAME["preFilter"].title == "PreFilter"


def test_every_method_belongs_to_one_point() -> None:
    """Method names are unique; methods of no extension point are in the table too."""
    names = [method.name for point in POINTS for method in (*point.entries, *point.companions)]
    names += [method.name for method in EXTRA_METHODS]
    assert len(names) == len(set(names)) == len(METHODS)


def test_binding_cycle_is_async() -> None:
    """Of the entry methods, those of the binding cycle are coroutines, the others are not."""
    is_async = {point.name: {method.is_async for method in point.entries} for point in POINTS}
    binding = {"preBind", "bind", "postBind"}
    assert is_async == {point.name: {point.name in binding} for point in POINTS}


def test_optional_arguments() -> None:
    """Trailing parameters may be left out where they came later to the contract."""
    assert {name for name, method in METHODS.items() if method.required < len(method.parameters)} == {
        "pre_filter",
        "normalize_score",
    }
