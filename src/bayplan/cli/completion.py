"""`bayplan completion`: the script that makes a shell complete commands, options and files."""

from __future__ import annotations

import click

_SHELLS = ("bash", "fish", "zsh")


@click.command(name="completion")
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    \b
    bash: echo 'eval "$(bayplan completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(bayplan completion zsh)"' >> ~/.zshrc
    fish: bayplan completion fish > ~/.config/fish/completions/bayplan.fish
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None  # noqa: S101
    # The variable by which the script asks us for completions.
    click.echo(completion(context.find_root().command, {}, "bayplan", "_BAYPLAN_COMPLETE").source())
