"""--emulated-version: the release of Kubernetes that a command follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from bayplan.release import Release

F = TypeVar("F", bound=Callable[..., Any])


def emulated_version_option(text: str) -> Callable[[F], F]:
    """The option, passed on as `release`: None if it is not given. *text* says what it is for."""
    return click.option(
        "--emulated-version", "release", metavar="VERSION", callback=_release, help=f"{text} 1.36 or 1.37."
    )


def _release(context: click.Context, option: click.Parameter, value: str | None) -> Release | None:
    return None if value is None else chosen_release(value)


def chosen_release(version: str, option: str = "--emulated-version") -> Release:
    """The release that the user named; raises UsageError for one that is not supported."""
    from bayplan.release import UnsupportedRelease, release_named

    try:
        return release_named(version)
    except UnsupportedRelease as error:
        raise click.UsageError(f"{option}={version} is refused: {error}") from error
