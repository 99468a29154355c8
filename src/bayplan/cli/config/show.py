"""`bayplan config show`: the configuration that a scheduler would run with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from bayplan.cli.emulated_version_option import emulated_version_option
from bayplan.cli.inputs import FILE, load, plugin_option, policy_option, registry
from bayplan.cli.tables import print_heading, print_table

if TYPE_CHECKING:
    from bayplan.config import EnabledPlugin, ExpandedProfile
    from bayplan.release import Release


@click.command(name="show")
@click.argument("file", required=False, type=FILE)
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), help="[default: yaml; with --expanded a table]"
)
@click.option("--expanded", is_flag=True, help="Per profile and extension point: the plugins in order.")
@plugin_option
@policy_option
@emulated_version_option("The release of Kubernetes whose defaults are shown:")
def command(
    file: str | None,
    output: str | None,
    expanded: bool,
    plugins: tuple[str, ...],
    policy: str | None,
    release: Release | None,
) -> None:
    """Print the effective configuration, with all defaults, in kube-scheduler's own form.

    FILE is a KubeSchedulerConfiguration or a Policy of any supported version; "-" is standard input. Without
    FILE, the default configuration is printed.
    """
    from bayplan import config

    if file is not None and policy is not None:
        raise click.UsageError("give FILE or --policy-config-file, not both")
    known = registry(plugins, release)
    source = file if file is not None else policy
    loaded = load(source, known) if source is not None else config.default(known)
    if expanded and output is None:
        _print_expanded(loaded.profiles)
        return
    values = loaded.expanded() if expanded else loaded.effective()
    click.echo(config.to_json(values) if output == "json" else config.to_yaml(values), nl=False)


def _print_expanded(profiles: Sequence[ExpandedProfile]) -> None:
    for number, profile in enumerate(profiles):
        if number:
            click.echo()
        print_heading(f"Profile {profile.scheduler_name}")
        rows = [
            (point, ", ".join(map(_with_weight, plugins))) for point, plugins in profile.points.items() if plugins
        ]
        print_table(("extension point", "plugins, in the order in which they run"), rows)


def _with_weight(plugin: EnabledPlugin) -> str:
    return f"{plugin.name}×{plugin.weight}" if plugin.weight else plugin.name
