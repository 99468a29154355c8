"""`bayplan config check`: reports every error in a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from bayplan.cli.emulated_version_option import emulated_version_option
from bayplan.cli.inputs import FILE, plugin_option, policy_option, read_text, registry, shown, warning_line

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry
    from bayplan.release import Release


@click.command(name="check")
@click.argument("files", nargs=-1, metavar="FILE...", type=FILE)
@plugin_option
@policy_option
@emulated_version_option("The release of Kubernetes to check against:")
def command(files: tuple[str, ...], plugins: tuple[str, ...], policy: str | None, release: Release | None) -> None:
    """Report every error in a configuration.

    One line per error: file, line, path, the error and a suggested fix. FILE may be an older version or a
    Policy; "-" is standard input. The exit status is 1 if there are errors; warnings do not count.
    """
    if policy is not None:
        files = (*files, policy)
    if not files:
        raise click.UsageError("Missing argument 'FILE...'.")
    results = [check(file, registry(plugins, release)) for file in files]
    raise SystemExit(0 if all(results) else 1)


def check(file: str, known: Registry) -> bool:
    """Print the errors and warnings of *file*; returns whether it is valid."""
    from bayplan import config

    source = shown(file)
    try:
        loaded = config.load(read_text(file), source=source, catalogue=known)
    except config.ConfigError as error:
        for problem in error.problems:
            click.echo(str(problem))
        click.echo(f"{source}: {_count(len(error.problems), 'error')}", err=True)
        return False
    for warning in loaded.warnings:
        click.echo(warning_line(warning))
    failure = _failure(loaded, known)
    if failure:
        click.echo(f"{source}: {failure}")
        return False
    names = ", ".join(profile.scheduler_name for profile in loaded.profiles)
    but = f", with {_count(len(loaded.warnings), 'warning')}" if loaded.warnings else ""
    click.echo(f"{source} is valid{but}: {_count(len(loaded.profiles), 'profile')} ({names})")
    return True


def _failure(loaded: Loaded, known: Registry) -> str:
    """Why no scheduler can be built from a valid configuration: the constructor of a plugin raised."""
    from bayplan.framework import PluginError
    from bayplan.scheduler import new_core

    try:
        new_core(loaded, known)
    except PluginError as error:
        return str(error)
    return ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
