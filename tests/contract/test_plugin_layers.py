"""The list of plugins in .importlinter is whole."""

from __future__ import annotations

import configparser
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_plugin_is_held_to_independence() -> None:
    """A plugin that is missing from the list could import another one unnoticed."""
    linter = configparser.ConfigParser()
    linter.read(ROOT / ".importlinter")
    listed = linter["importlinter:contract:plugins-independent"]["modules"].split()

    source = ROOT / "src"
    plugins = (source / "bayplan" / "plugins").rglob("[a-z]*.py")

    assert sorted(listed) == sorted(".".join(path.relative_to(source).with_suffix("").parts) for path in plugins)
