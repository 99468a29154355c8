"""A pod's way through the code is short, and the document tells all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.integration.life_of_a_pod import DOCUMENT, functions, modules, updated
from tests.integration.pod_trace import DECISION, Step, trace_in_new_process

from bayplan.core import schedule_one
from bayplan.version import IS_COMPILED

pytestmark = pytest.mark.skipif(IS_COMPILED, reason="machine code has no frames to trace")

MAX_MODULES = 50
MAX_MODULES_IN_THE_DECISION = 20
MAX_FUNCTIONS = 350
MAX_LINES_OF_THE_CYCLE = 500


@pytest.fixture(scope="module")
def steps() -> list[Step]:
    return trace_in_new_process()


def test_few_modules(steps: list[Step]) -> None:
    """Plugins do not count. kube-scheduler needs about ten files, each several times as long."""
    assert len(modules(steps)) <= MAX_MODULES, sorted(modules(steps))


def test_few_modules_in_the_decision(steps: list[Step]) -> None:
    """From the pop to the assumed pod."""
    assert len(modules(steps, DECISION)) <= MAX_MODULES_IN_THE_DECISION, sorted(modules(steps, DECISION))


def test_few_functions(steps: list[Step]) -> None:
    """Plugins count."""
    assert len(functions(steps)) <= MAX_FUNCTIONS


def test_the_cycle_is_one_file_to_read() -> None:
    """From the pop to the hand-over to binding, and every failure on the way."""
    lines = Path(schedule_one.__file__).with_suffix(".py").read_text().splitlines()
    assert len(lines) <= MAX_LINES_OF_THE_CYCLE


def test_the_document_lists_exactly_what_runs(steps: list[Step]) -> None:
    """`make life-of-a-pod` brings it up to date."""
    text = DOCUMENT.read_text()
    assert updated(text, steps) == text
