"""The expanded configuration for people: per profile and extension point, the plugins in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bayplan.cli.tables import print_heading, print_table

if TYPE_CHECKING:
    from bayplan.config import EnabledPlugin, Profile


def print_expanded(profiles: Sequence[Profile]) -> None:
    for number, profile in enumerate(profiles):
        if number:
            click.echo()
        print_heading(f"Profile {profile.scheduler_name}")
        print_table(("extension point", "plugins, in the order in which they run"), expanded_rows(profile))


def expanded_rows(profile: Profile) -> list[tuple[str, str]]:
    """(extension point, its plugins), without the points that have none."""
    return [(point, ", ".join(map(_shown, plugins))) for point, plugins in profile.points.items() if plugins]


def _shown(plugin: EnabledPlugin) -> str:
    """The name, and its weight where it has one."""
    return f"{plugin.name}×{plugin.weight}" if plugin.weight else plugin.name
