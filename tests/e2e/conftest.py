"""Fixtures for the tests against a real control plane."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.binaries import MissingProgramError, require
from tests.e2e.control_plane import ControlPlane
from tests.e2e.shared import SharedControlPlane

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


@pytest.fixture(scope="session")
def shared_control_plane(
    programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedControlPlane]:
    """For the fixture `control_plane`; started when a test first asks for that."""
    shared = SharedControlPlane(programs, lambda: tmp_path_factory.mktemp("control-plane"))
    yield shared
    shared.close()


@pytest.fixture
def control_plane(
    shared_control_plane: SharedControlPlane, request: pytest.FixtureRequest
) -> Iterator[ControlPlane]:
    """A clean control plane: etcd and kube-apiserver, with no objects but what the API server makes itself."""
    plane = shared_control_plane.get()
    request.node.stash.setdefault(_PLANES, []).append(plane)
    yield plane
    shared_control_plane.sweep()


@pytest.fixture
def namespace(control_plane: ControlPlane) -> str:
    """The name of a new namespace of `control_plane`, for a test whose objects shall not be in `default`."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    control_plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


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
