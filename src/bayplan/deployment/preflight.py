"""Checks before a deployment: errors and warnings about a configuration that is to run in a pod."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.config.types import KubeSchedulerConfiguration
    from bayplan.core import SchedulerCore
    from bayplan.deployment.manifest_objects import Options
    from bayplan.framework import Registry

DEFAULT_SCHEDULER: Final = "default-scheduler"
#: The Lease of the cluster's kube-scheduler, and of every configuration that names no other.
DEFAULT_LEASE: Final = ("kube-system", "kube-scheduler")
#: The maximum size of a ConfigMap.
CONFIG_MAP_BYTES: Final = 1 << 20
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")


class DeploymentError(ValueError):
    """The options cannot be deployed; the message says why and suggests a fix."""


def check(options: Options, scheduler: SchedulerCore, registry: Registry, given: Set[str]) -> list[str]:
    """Return warnings; raises DeploymentError for what cannot work.

    *given*: the names of the plugins that are part of the deployment.
    """
    if options.lease is None and options.replicas > 1:
        raise DeploymentError(
            f"without leader election all {options.replicas} replicas would schedule at the same time: "
            "set leaderElection.leaderElect to true, or --replicas to 1"
        )
    _check_files({"scheduler.yaml": options.configuration, **options.plugin_files})
    _check_sources(scheduler, registry, given)
    unused = sorted(given - _enabled(scheduler))
    return [
        *_lease_warnings(options.lease, set(scheduler.profiles)),
        *(f"no profile enables the plugin {name}: it is deployed but not used" for name in unused),
        *_file_warnings(scheduler.config),
    ]


def _check_files(files: Mapping[str, str]) -> None:
    for name in files:
        if not _KEY.fullmatch(name):
            raise DeploymentError(
                f"{name!r} cannot be a key of a ConfigMap: use letters, digits, '-', '_' and '.'"
            )
    size = sum(len(text.encode()) for text in files.values())
    if size > CONFIG_MAP_BYTES:
        raise DeploymentError(
            f"configuration and plugins are {size} bytes, and a ConfigMap holds {CONFIG_MAP_BYTES}: "
            "put the plugins into the image, and name them as module:Class"
        )


def _check_sources(scheduler: SchedulerCore, registry: Registry, given: Set[str]) -> None:
    """A configuration may refer to a plugin file that the pod does not have."""
    for name in sorted(_enabled(scheduler) - given):
        registration = registry.get(name)
        if registration.source.endswith(".py"):
            reference = f"{registration.source}:{registration.plugin.__name__}"
            raise DeploymentError(
                f"the configuration takes the plugin {name} from a file that the pod does not have: "
                f"give it as --plugin {reference}, and use its name in the configuration"
            )


def _enabled(scheduler: SchedulerCore) -> set[str]:
    return {name for profile in scheduler.profiles.values() for name in profile.plugins.plugins}


def _lease_warnings(lease: tuple[str, str] | None, profiles: set[str]) -> Iterator[str]:
    shown = "/".join(DEFAULT_LEASE)
    if lease == DEFAULT_LEASE and DEFAULT_SCHEDULER not in profiles:
        yield (
            f"leaderElection names the Lease {shown}, which the cluster's kube-scheduler holds: Bayplan waits "
            "as long as it does; set leaderElection.resourceName to another name"
        )
    if lease != DEFAULT_LEASE and DEFAULT_SCHEDULER in profiles:
        yield (
            f"a profile is called {DEFAULT_SCHEDULER}, but the Lease is not {shown}: a kube-scheduler that is "
            "still running would schedule the same pods"
        )


def _file_warnings(config: KubeSchedulerConfiguration) -> Iterator[str]:
    if kubeconfig := config.client_connection.kubeconfig:
        yield (
            f"clientConnection.kubeconfig names {kubeconfig}, which the pod does not have: remove it to use "
            "the ServiceAccount"
        )
    for i, extender in enumerate(config.extenders):
        tls = extender.tls_config
        for field in ("cert_file", "key_file", "ca_file"):
            if tls is not None and (file := getattr(tls, field)):
                yield f"extenders[{i}].tlsConfig names {file}, which the pod does not have unless you mount it"
