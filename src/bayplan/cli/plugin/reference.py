"""Resolves plugin references: a file, a file and a class, or a module and a class."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from bayplan.framework import Registration


def load_classes(reference: str) -> list[Registration]:
    """`FILE:CLASS`, `module:CLASS`, or every plugin in `FILE`; raises ClickException if it does not load."""
    from bayplan.framework import PluginError, Registry

    registry = Registry()
    try:
        if not reference.endswith(".py"):
            return [registry.add_reference(reference)]
        names = class_names(Path(reference))
        found = [registry.add_reference(f"{reference}:{name}") for name in names]
    except PluginError as error:
        raise click.ClickException(str(error)) from error
    if not found:
        raise click.ClickException(
            f"{reference}: contains no plugin; a plugin is a class derived from bayplan.Plugin"
        )
    return found


def class_names(file: Path) -> list[str]:
    """The classes in *file* derived from a class called Plugin; the file is parsed, not run."""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
    except OSError as error:
        raise click.ClickException(f"{file}: cannot be read: {error.strerror}") from error
    except SyntaxError as error:
        raise click.ClickException(f"{file}:{error.lineno}: {error.msg}") from error
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef) and any(_last_name(base) == "Plugin" for base in node.bases)
    ]


def _last_name(base: ast.expr) -> str:
    if isinstance(base, ast.Subscript):  # Plugin[MyArgs]
        base = base.value
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
