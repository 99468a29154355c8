"""`bayplan manifests`: prints the manifests that deploy Bayplan to a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

import bayplan
from bayplan.cli.inputs import FILE, load_text, read_text, registry, shown

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.core import SchedulerCore
    from bayplan.deployment.manifest_objects import Options
    from bayplan.deployment.permissions import Rule
    from bayplan.framework import Registry

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_LENGTH: Final = 63


def _check_label(ctx: click.Context, parameter: click.Parameter, value: str) -> str:
    """The name is also used as a label value and as the name of a Service."""
    if len(value) > _LABEL_LENGTH or not _LABEL.fullmatch(value):
        raise click.BadParameter(
            f"{value!r} is not a valid name: at most {_LABEL_LENGTH} lower-case letters, digits and '-', "
            "a letter or digit first and last"
        )
    return value


def _parse_rules(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[Rule, ...]:
    from bayplan.deployment.permissions import Rule

    try:
        return tuple(Rule.parse(value) for value in values)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(name="manifests")
@click.option(
    "--name",
    default="bayplan-scheduler",
    show_default=True,
    callback=_check_label,
    help="The name of the objects.",
)
@click.option(
    "--namespace", default="kube-system", show_default=True, callback=_check_label, help="Their namespace."
)
@click.option(
    "--image", default=f"bayplan:{bayplan.__version__}", show_default=True, help="The container's image."
)
@click.option(
    "--replicas",
    default=2,
    show_default=True,
    type=click.IntRange(1),
    help="The number of pods; one of them schedules, the others are on standby.",
)
@click.option(
    "--config",
    "config_file",
    type=FILE,
    metavar="FILE",
    help="The configuration; its leaderElection names the Lease. Without it: a profile called --name, with "
    "the default plugins and those of --plugin.",
)
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="REF",
    help="A plugin of your own: path/to/file.py:Class, whose file goes into the ConfigMap, or module:Class, "
    "which the image must contain. Repeatable.",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    callback=_parse_rules,
    metavar="VERBS:RESOURCE[.GROUP]",
    help="Permissions for what a plugin does with handle.client: get,patch:foos.example.com. Repeatable.",
)
@click.option("--controllers", is_flag=True, help="Also update the status of PodGroups and ElasticQuotas.")
@click.option(
    "--replace-default",
    is_flag=True,
    help="Replace the default scheduler: use its name and its Lease, so that only one of them is active.",
)
@click.option("--service-monitor", is_flag=True, help="Add a ServiceMonitor for the Prometheus operator.")
def command(config_file: str | None, plugins: tuple[str, ...], replace_default: bool, **given: Any) -> None:
    """Print the manifests that deploy Bayplan to a cluster.

    YAML for `kubectl apply -f -`: two replicas with leader election, with exactly the permissions that the
    configured plugins need. These are determined by creating the plugins, as `bayplan run` would.
    """
    import yaml

    from bayplan.deployment.manifest_objects import deployment_objects
    from bayplan.deployment.preflight import DeploymentError, check

    if config_file is not None and replace_default:
        raise click.UsageError("--replace-default and --config exclude each other; give one of them")
    known = registry(plugins)
    names = [known.add_reference(reference).plugin.name for reference in plugins]
    if config_file is not None:
        text, source = read_text(config_file), shown(config_file)
    else:
        text, source = _configuration(given, names, replace_default), "the written configuration"
    loaded = load_text(text, source, known)
    options = _options(text, loaded, plugins, given)
    scheduler = _make(loaded, known)
    try:
        warnings = check(options, scheduler, known, frozenset(names))
    except DeploymentError as error:
        raise click.ClickException(str(error)) from error
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    objects = deployment_objects(options, scheduler)
    click.echo(yaml.dump_all(objects, Dumper=_dumper(), sort_keys=False), nl=False)


def _configuration(given: dict[str, Any], plugins: Iterable[str], replace_default: bool) -> str:
    """The default configuration: one profile, and a matching Lease."""
    import yaml

    from bayplan.deployment.preflight import DEFAULT_LEASE, DEFAULT_SCHEDULER

    namespace, name = DEFAULT_LEASE if replace_default else (given["namespace"], given["name"])
    profile: dict[str, Any] = {"schedulerName": DEFAULT_SCHEDULER if replace_default else given["name"]}
    if enabled := [{"name": name} for name in plugins]:
        profile["plugins"] = {"multiPoint": {"enabled": enabled}}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": True, "resourceNamespace": namespace, "resourceName": name},
        "profiles": [profile],
    }
    return yaml.safe_dump(configuration, sort_keys=False)


def _make(loaded: Loaded, known: Registry) -> SchedulerCore:
    from bayplan.framework import PluginError
    from bayplan.scheduler import new_core

    try:
        return new_core(loaded, known)
    except PluginError as error:
        raise click.ClickException(str(error)) from error


def _options(text: str, loaded: Loaded, plugins: tuple[str, ...], given: dict[str, Any]) -> Options:
    from bayplan.deployment.manifest_objects import Options

    election = loaded.config.leader_election
    return Options(
        configuration=text,
        lease=(election.resource_namespace, election.resource_name) if election.leader_elect else None,
        plugin_files=_files(plugins),
        plugins=tuple(Path(each).name if ".py:" in each else each for each in plugins),
        **given,
    )


def _files(plugins: Iterable[str]) -> dict[str, str]:
    """File name → text; a file may contain several plugins."""
    paths: dict[str, Path] = {}
    for file, _, _ in (each.rpartition(":") for each in plugins if ".py:" in each):
        path = Path(file).resolve()
        if paths.setdefault(path.name, path) != path:
            raise click.ClickException(
                f"{paths[path.name]} and {path}: "
                "a ConfigMap cannot have two files of the same name; rename one of them"
            )
    return {name: read_text(str(path)) for name, path in paths.items()}


def _dumper() -> Any:
    import yaml

    class Dumper(yaml.CSafeDumper):
        """Prints multi-line texts as blocks, so that configuration and plugins stay readable."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper
