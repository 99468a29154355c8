"""`bayplan extender serve`: serves plugins as an HTTP extender."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bayplan.cli.inputs import FILE, load, plugin_option

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry

_ALONE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{names}]
"""


@click.command(name="serve")
@plugin_option
@click.option(
    "--config",
    "config_file",
    type=FILE,
    metavar="FILE",
    help="The configuration with the args and weights of the plugins.",
)
@click.option("--profile", default="", metavar="NAME", help="The profile in FILE.  [default: the first]")
@click.option(
    "--kubeconfig", default="", metavar="FILE", help="Read nodes and pods from a cluster (nodeCacheCapable)."
)
@click.option("--address", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", default=8888, show_default=True, type=click.IntRange(0, 65535), help="The port; 0 picks a free one."
)
@click.option(
    "--tls-cert-file", "certificate_file", default="", metavar="FILE", help="Serve HTTPS with this certificate."
)
@click.option(
    "--tls-private-key-file", "key_file", default="", metavar="FILE", help="The private key of the certificate."
)
@click.option(
    "--self-signed",
    "self_signed_dir",
    default="",
    metavar="DIR",
    help="Serve HTTPS with a self-signed certificate, created in DIR.",
)
@click.option(
    "--client-ca-file",
    default="",
    metavar="FILE",
    help="Accept only client certificates of this authority (mTLS).",
)
@click.option("--token-file", default="", metavar="FILE", help="Accept only requests with the token in FILE.")
@click.option(
    "--score-range",
    "top_score",
    type=click.Choice(["10", "100"]),
    default="10",
    show_default=True,
    help="The highest score: 10 as extenders should, 100 to lose no precision (and count tenfold).",
)
@click.option("--print-config", is_flag=True, help="Print the `extenders:` stanza for the scheduler, and exit.")
@click.option(
    "--url",
    default="",
    metavar="URL",
    help="The URL by which the scheduler reaches this server, for --print-config.",
)
@click.option("-v", "verbosity", default=0, type=int, metavar="LEVEL", help="How much to log.")
def command(
    plugins: tuple[str, ...],
    config_file: str | None,
    profile: str,
    print_config: bool,
    top_score: str,
    **given: Any,
) -> None:
    """Serve plugins as an HTTP extender of a stock kube-scheduler.

    Filter becomes `filter`, Score `prioritize`, PostFilter `preempt`, Bind `bind`; PreFilter and PreScore run once
    per request. Without --kubeconfig the scheduler must send whole nodes (nodeCacheCapable: false).

    \b
    bayplan extender serve --plugin cpu_nodes.py:CpuNodes --print-config
    bayplan extender serve --plugin cpu_nodes.py:CpuNodes --kubeconfig ~/.kube/config
    """
    if not plugins:
        raise click.UsageError("nothing to serve; give --plugin FILE:Class")
    from bayplan.process.extending import ExtenderSettings, NotEnabledError, main, restricted

    settings = ExtenderSettings(**given, top_score=int(top_score))
    if settings.client_ca_file and not settings.is_secure:
        raise click.UsageError("--client-ca-file needs HTTPS: --tls-cert-file or --self-signed")
    registry, names = _registry(plugins)
    try:
        loaded = restricted(_configuration(config_file, registry, names), names, profile)
    except NotEnabledError as error:
        raise click.ClickException(f"{config_file or 'the plugins given'}: {error}") from error
    raise SystemExit(main(loaded, registry, settings, print_config=print_config))


def _registry(references: tuple[str, ...]) -> tuple[Registry, list[str]]:
    """The registry of all plugins, and the names of those in *references*."""
    from bayplan.framework import PluginError
    from bayplan.scheduler import default_registry

    registry = default_registry()
    try:
        names = [
            (registry.add_reference(each) if ":" in each else registry.get(each)).plugin.name
            for each in references
        ]
    except PluginError as error:
        raise click.ClickException(str(error)) from error
    return registry, names


def _configuration(file: str | None, registry: Registry, names: list[str]) -> Loaded:
    if file is not None:
        return load(file, registry)
    from bayplan import config

    text = _ALONE.format(names=", ".join(f'{{name: "{name}"}}' for name in names))
    return config.load(text, source="the plugins given", catalogue=registry)
