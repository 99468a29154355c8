"""Shared by the commands: files and plugins on the command line, and the configurations in them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar

import click

if TYPE_CHECKING:
    from bayplan.config import ConfigError, Loaded, Problem
    from bayplan.framework import Registry
    from bayplan.release import Release

F = TypeVar("F", bound=Callable[..., Any])

#: An existing file, or `-` for standard input.
FILE = click.Path(exists=True, dir_okay=False, allow_dash=True)


def plugin_option(function: F) -> F:
    return click.option(
        "--plugin",
        "plugins",
        multiple=True,
        metavar="REF",
        help="Register a plugin of your own: path/to/file.py:Class or module:Class. Repeatable.",
    )(function)


def policy_option(function: F) -> F:
    return click.option(
        "--policy-config-file",
        "policy",
        type=FILE,
        metavar="FILE",
        help="A Policy object of older schedulers; the same as FILE.",
    )(function)


def annotations_option(function: F) -> F:
    return click.option(
        "--simulator-annotations",
        is_flag=True,
        help="Write the results of each attempt to the pod, for kube-scheduler-simulator's web interface.",
    )(function)


def read_text(file: str) -> str:
    """The text of *file*; raises ClickException if it cannot be read."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise click.ClickException(f"{shown(file)}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{shown(file)}: not text in UTF-8: {error}") from error


def shown(file: str) -> str:
    """The name of *file* in messages."""
    return "<stdin>" if file == "-" else file


def registry(references: Iterable[str], release: Release | None = None) -> Registry:
    """The registry of all plugins, including *references*; raises ClickException for one that does not load.

    They follow *release*, or the default one.
    """
    from bayplan.framework import PluginError
    from bayplan.release import DEFAULT
    from bayplan.scheduler import default_registry

    try:
        return default_registry(references, release or DEFAULT)
    except PluginError as error:
        raise click.ClickException(str(error)) from error


def load(file: str, catalogue: Registry) -> Loaded:
    """The configuration in *file*; prints warnings to standard error. An invalid one ends the command."""
    return load_text(read_text(file), shown(file), catalogue)


def load_text(text: str, source: str, catalogue: Registry) -> Loaded:
    """The same for a text; *source* is its name in messages."""
    return accepted(Configuration(text, source), catalogue)


class Configuration(NamedTuple):
    """The text of a configuration, to be loaded with the registered plugins, again whenever these change."""

    #: None: the default configuration.
    text: str | None
    source: str = ""

    @classmethod
    def of_file(cls, file: str | None) -> Configuration:
        return cls(read_text(file), shown(file)) if file else cls(None)

    def read(self, catalogue: Registry) -> Loaded:
        """Raises ConfigError."""
        from bayplan import config

        if self.text is None:
            return config.default(catalogue)
        return config.load(self.text, source=self.source, catalogue=catalogue)


def accepted(configuration: Configuration, catalogue: Registry) -> Loaded:
    """Load *configuration*; prints warnings to standard error. An invalid one ends the command."""
    from bayplan import config

    try:
        loaded = configuration.read(catalogue)
    except config.ConfigError as error:
        refuse(error)
    for warning in loaded.warnings:
        click.echo(warning_line(warning), err=True)
    return loaded


def refuse(error: ConfigError) -> NoReturn:
    """Print every error, one line each, and end the command."""
    for problem in error.problems:
        click.echo(str(problem), err=True)
    raise SystemExit(1)


def warning_line(problem: Problem) -> str:
    """`file:line: warning: path: message`, the form that editors understand."""
    place = f"{problem.source}:{problem.line}: " if problem.line else f"{problem.source}: "
    return f"{place}warning: {str(problem).removeprefix(place)}"
