"""Names of drivers, pools, attributes and requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.devices.device_names import (
    RequestNames,
    driver_causes,
    fully_qualified_causes,
    pool_causes,
    qualified_causes,
    share_id_causes,
)


@pytest.mark.parametrize(
    ("causes", "good"),
    [
        pytest.param(driver_causes, ["gpu.example.com", "GPU.example.com", "x" * 63], id="drivers"),
        pytest.param(pool_causes, ["node-1", "rack/node-1", "a.b/c.d/e"], id="pools"),
        pytest.param(qualified_causes, ["model", "_x1", "example.com/model", "a/b/c"], id="attributes"),
        pytest.param(fully_qualified_causes, ["example.com/model"], id="attributes of constraints"),
        pytest.param(share_id_causes, ["8f9a1c2e-0000-4000-8000-00000000000a"], id="share IDs"),
    ],
)
def test_names_that_are_used(causes: Callable[[str, str], Iterable[StatusCause]], good: list[str]) -> None:
    """A driver may have capitals; upstream does not look at names with two slashes."""
    assert {name: list(causes(name, "x")) for name in good} == {name: [] for name in good}


@pytest.mark.parametrize(
    ("causes", "name", "texts"),
    [
        pytest.param(driver_causes, "", ["Required value"], id="no driver"),
        pytest.param(driver_causes, "x" * 64, ["Too long: may not be more than 63 bytes"], id="a long driver"),
        pytest.param(pool_causes, "", ["Required value"], id="no pool"),
        pytest.param(qualified_causes, "/x", ['Invalid value: "": the domain must not be empty'], id="no domain"),
        pytest.param(qualified_causes, "x/", ['Invalid value: "": the name must not be empty'], id="no name"),
        pytest.param(
            fully_qualified_causes,
            "model",
            ['Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash'],
            id="an attribute of no driver",
        ),
        pytest.param(
            share_id_causes,
            "short",
            ['Invalid value: "short": error validating uid: invalid UUID length: 5'],
            id="a short share ID",
        ),
    ],
)
def test_names_that_are_refused(
    causes: Callable[[str, str], Iterable[StatusCause]], name: str, texts: list[str]
) -> None:
    """In Kubernetes' words."""
    assert [cause.message for cause in causes(name, "x")] == texts


def test_references_to_requests() -> None:
    """A request, or one of its alternatives."""
    names = RequestNames([{"name": "a"}, {"name": "b", "firstAvailable": [{"name": "x"}]}])

    found = {
        name: bool(list(names.reference_causes(name, "p"))) for name in ("a", "b", "b/x", "a/x", "c", "b/x/y")
    }

    assert found == {"a": False, "b": False, "b/x": False, "a/x": True, "c": True, "b/x/y": True}
