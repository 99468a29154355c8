"""Fixtures for the tests against a real control plane."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.binaries import MissingProgramError, require
from tests.e2e.control_plane import ControlPlane

_PLANES = pytest.StashKey[list[ControlPlane]]()
LOG_LINES = 60


@pytest.fixture(scope="session")
def programs() -> dict[str, Path]:
    """The programs of a control plane; tests do not build them."""
    try:
        return require()
    except MissingProgramError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def start_control_plane(
    programs: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., ControlPlane]]:
    """Starts control planes with options of `ControlPlane`; each is fresh and ends with the test."""
    planes: list[ControlPlane] = request.node.stash.setdefault(_PLANES, [])
    with ExitStack() as stack:

        def start(**options: Any) -> ControlPlane:
            folder = tmp_path / f"control-plane-{len(planes)}"
            folder.mkdir()
            planes.append(stack.enter_context(ControlPlane(folder, programs=programs, **options)))
            return planes[-1]

        yield start


@pytest.fixture
def control_plane(start_control_plane: Callable[..., ControlPlane]) -> ControlPlane:
    """A fresh control plane: etcd and kube-apiserver, with no objects but what the API server makes itself."""
    return start_control_plane()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With a failure, show how the logs of the test's control plane end, and where all of them are."""
    report = yield
    if report.failed:
        for plane in item.stash.get(_PLANES, []):
            report.sections.append(("Logs", f"in {plane.folder}"))
            report.sections += [(f"End of {log.name}", _tail(log)) for log in plane.logs()]
    return report


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-LOG_LINES:])
