"""Gangs: the same scenarios, once with the scheduler of the scheduler-plugins and once with Bayplan."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.e2e.bayplan import start_bayplan
from tests.e2e.binaries import MissingProgramError
from tests.e2e.control_plane import ControlPlane
from tests.e2e.family_harness import load_scenarios, play, require_program, start_original

pytestmark = [pytest.mark.e2e, pytest.mark.family]

SCENARIOS = load_scenarios("gangs")


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_schedulers_leave_the_same(name: str, start_control_plane: Callable[..., ControlPlane]) -> None:
    """After every step as many pods of each group are bound, with either scheduler, and as many as should be."""
    try:
        require_program()
    except MissingProgramError as error:
        pytest.fail(str(error), pytrace=False)
    scenario = SCENARIOS[name]
    original = play(start_control_plane(), scenario, start_original)
    ours = play(start_control_plane(), scenario, start_bayplan)

    assert ours == [step["bound"] for step in scenario["steps"]]
    assert original == ours
