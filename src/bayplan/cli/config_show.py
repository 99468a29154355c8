"""`bayplan config show`: the configuration that a scheduler would run with."""

from __future__ import annotations

import click

from bayplan.cli.inputs import FILE, load, plugin_option, policy_option, registry


@click.command(name="show")
@click.argument("file", required=False, type=FILE)
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), help="[default: yaml; with --expanded a table]"
)
@click.option("--expanded", is_flag=True, help="Per profile and extension point: the plugins in their order.")
@plugin_option
@policy_option
def command(
    file: str | None, output: str | None, expanded: bool, plugins: tuple[str, ...], policy: str | None
) -> None:
    """Print the effective configuration, with all defaults, in kube-scheduler's own form.

    FILE is a KubeSchedulerConfiguration or a Policy, of any version that is understood; "-" is standard input.
    Without FILE it is the configuration of a scheduler that is given none.
    """
    from bayplan import config

    if file is not None and policy is not None:
        raise click.UsageError("give FILE or --policy-config-file, not both")
    known = registry(plugins)
    source = file if file is not None else policy
    loaded = load(source, known) if source is not None else config.default(known)
    if expanded and output is None:
        from bayplan.cli.expanded import print_expanded

        print_expanded(loaded.profiles)
        return
    values = loaded.expanded() if expanded else loaded.effective()
    click.echo(config.to_json(values) if output == "json" else config.to_yaml(values), nl=False)
