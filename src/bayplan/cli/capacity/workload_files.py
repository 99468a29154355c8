"""The option -f of commands that ask about workloads nobody has submitted yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from bayplan.cli.inputs import FILE, read_text, shown

F = TypeVar("F", bound=Callable[..., Any])


def workload_option(function: F) -> F:
    return click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        required=True,
        type=FILE,
        metavar="FILE",
        help="A Pod, Deployment, StatefulSet, Job and so on. Repeatable.",
    )(function)


def pool_label_option(function: F) -> F:
    return click.option(
        "--pool-label",
        default="",
        metavar="KEY",
        help="The label that names the pool of a node; by default that of the provider, else its size.",
    )(function)


def read_workloads(files: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The objects in *files*; raises ObjectFileError."""
    from bayplan.explain.object_files import read_objects

    return [each for file in files for each in read_objects(read_text(file), shown(file))]
