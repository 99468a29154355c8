"""`bayplan plugin new`: creates a small plugin project."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Final

import click

SCAFFOLD: Final = Path(__file__).parent / "scaffold"
#: Template → the file it becomes.
FILES: Final = {
    "plugin.py.txt": "$module.py",
    "test_plugin.py.txt": "test_$module.py",
    "scheduler.yaml.txt": "scheduler.yaml",
    "pod.yaml.txt": "pod.yaml",
    "README.md.txt": "README.md",
}


@click.command(name="new")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The directory to create.  [default: the name of the plugin in lower case]",
)
def command(name: str, into: Path | None) -> None:
    """Create a small project for the plugin NAME, such as PreferSsd: code, arguments, test, configuration."""
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name):
        raise click.ClickException(
            f"{name!r} is not a valid plugin name: use letters and digits, a capital first, such as PreferSsd"
        )
    words = {"name": name, "module": _snake(name)}
    folder = into if into is not None else Path(words["module"].replace("_", "-"))
    if folder.exists() and any(folder.iterdir()):
        raise click.ClickException(f"{folder} exists and is not empty; choose another directory with --into")
    folder.mkdir(parents=True, exist_ok=True)
    for template, target in FILES.items():
        file = folder / Template(target).substitute(words)
        file.write_text(
            Template((SCAFFOLD / template).read_text(encoding="utf-8")).substitute(words), encoding="utf-8"
        )
        click.echo(f"  {file}")
    module = words["module"]
    click.echo(f"\nNext:\n  cd {folder}\n  bayplan plugin check {module}.py\n  python -m pytest")
    click.echo(f"  bayplan up --config scheduler.yaml --plugin {module}.py:{name} -f pod.yaml")


def _snake(name: str) -> str:
    """PreferSsd → prefer_ssd, GPUFirst → gpu_first"""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
