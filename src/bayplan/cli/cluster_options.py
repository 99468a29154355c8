"""The options that say which cluster a question is about, and how it is answered."""

from __future__ import annotations

import asyncio
import functools
import logging
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from bayplan.cli.emulated_version_option import emulated_version_option
from bayplan.cli.explanation_text import TextForm
from bayplan.cli.inputs import FILE, Configuration, accepted, plugin_option, read_text, registry, shown

if TYPE_CHECKING:
    from bayplan.client import ClusterAccess
    from bayplan.config import Loaded
    from bayplan.explain.cluster_objects import ClusterObjects
    from bayplan.explain.explainer import Explainer
    from bayplan.framework import Registry
    from bayplan.release import Release

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

OUTPUTS = ("text", "wide", "json", "yaml")
#: The width of text that goes to a file.
FILE_WIDTH = 100


def reading_options(function: F) -> F:
    """Which cluster, and with which scheduler."""
    return _with(
        function,
        click.option(
            "--snapshot",
            "snapshots",
            multiple=True,
            type=FILE,
            metavar="FILE",
            help="Read the cluster from this snapshot: of bayplan capture, or of kubectl get … -o yaml|json. "
            "Repeatable.",
        ),
        click.option("--kubeconfig", default="", metavar="FILE", help="The kubeconfig of the cluster."),
        click.option("--context", default="", metavar="NAME", help="The context of the kubeconfig."),
        click.option(
            "--config",
            "config_file",
            type=FILE,
            metavar="FILE",
            help="The scheduler's configuration; kube-scheduler's defaults without it.",
        ),
        plugin_option,
        emulated_version_option("The release of Kubernetes to follow; by default that of the API server:"),
    )


def cluster_options(function: F) -> F:
    """The same, and the form of the answer."""
    form = click.option(
        "-o", "--output", type=click.Choice(OUTPUTS), default="text", show_default=True, help="The format."
    )
    width = click.option(
        "--width",
        type=click.IntRange(40),
        default=None,
        metavar="COLUMNS",
        help="The width of text; that of the terminal without it.",
    )
    return reading_options(_with(function, form, width))


def _with(function: F, *options: Callable[[F], F]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def server_options(function: F) -> F:
    for option in reversed(
        (
            click.option(
                "--server",
                default="",
                metavar="URL",
                help="Ask a running Bayplan: its address, or auto for the holder of the Lease.",
            ),
            click.option(
                "--certificate-authority",
                default="",
                metavar="FILE",
                help="The CA of the certificate of --server.",
            ),
            click.option(
                "--insecure-skip-tls-verify", is_flag=True, help="Do not check the certificate of --server."
            ),
        )
    ):
        function = option(function)
    return function


class RunningScheduler(NamedTuple):
    """A running Bayplan to ask: the values of `server_options`."""

    #: A URL, `auto` for the holder of the Lease; empty: none is asked.
    server: str
    certificate_authority: str
    insecure_skip_tls_verify: bool

    @classmethod
    def of(cls, given: dict[str, Any]) -> RunningScheduler:
        return cls(*(given.pop(field) for field in cls._fields))


class ReadCluster(NamedTuple):
    """A cluster that was read, and the scheduler that it was read for."""

    objects: ClusterObjects
    loaded: Loaded
    catalogue: Registry


class ClusterQuestion(NamedTuple):
    """The values of the options."""

    snapshots: tuple[str, ...]
    kubeconfig: str
    context: str
    config_file: str | None
    plugins: tuple[str, ...]
    #: None: that of the API server.
    release: Release | None
    output: str = "text"
    width: int | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> ClusterQuestion:
        return cls(**{field: given.pop(field) for field in cls._fields if field in given})

    def form(self) -> TextForm:
        width = self.width
        if width is None:
            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else FILE_WIDTH
        return TextForm(width, wide=self.output == "wide")

    def namespace(self) -> str:
        """The namespace of the kubeconfig's context."""
        return "default" if self.snapshots else self._access().namespace or "default"

    def _access(self) -> ClusterAccess:
        from bayplan.client import AccessError, load_access

        try:
            return load_access(self.kubeconfig, context=self.context)
        except AccessError as error:
            raise click.ClickException(str(error)) from error

    def _release(self) -> Release | None:
        """The release to follow; None for the default one."""
        if self.release is not None or self.snapshots:
            return self.release
        from bayplan.process.followed_release import ask_release

        followed = asyncio.run(ask_release(self._access()))
        if followed.warning:
            click.echo(f"warning: {followed.warning}", err=True)
        return followed.release

    def read(self, namespace: str = "", pod: str = "") -> ReadCluster:
        """Reads the cluster, with the owners of *pod*; *namespace* is enough where not all may be read."""
        hide_slow_plugin_warnings()
        catalogue = registry(self.plugins, self._release())
        loaded = accepted(Configuration.of_file(self.config_file), catalogue)
        if self.snapshots:
            return ReadCluster(self._snapshot(), loaded, catalogue)
        from bayplan.cli.cluster_connection import read_cluster

        return ReadCluster(read_cluster(self._access(), loaded, catalogue, (namespace, pod)), loaded, catalogue)

    def explainer(self, namespace: str = "", pod: str = "") -> tuple[Explainer, ClusterObjects]:
        """An explainer of the cluster, which is read as `read` does."""
        from bayplan.clock import SystemClock
        from bayplan.explain.cluster_objects import new_cluster_core
        from bayplan.explain.explainer import Explainer
        from bayplan.explain.owners import owner_of
        from bayplan.explain.what_if_scheduler import WhatIfScheduler

        objects, loaded, catalogue = self.read(namespace, pod)
        core = new_cluster_core(objects, loaded, catalogue, SystemClock())
        notes: Iterable[str] = ()
        if loaded.config.extenders:
            urls = ", ".join(extender.url_prefix for extender in loaded.config.extenders)
            notes = (f"the extenders of the configuration are not called here: {urls}",)
        explainer = Explainer(
            WhatIfScheduler(core), objects.source(), notes=tuple(notes), owner=lambda pod: owner_of(objects, pod)
        )
        return explainer, objects

    def ask(self, server: RunningScheduler, path: str, query: Mapping[str, str | int], answer: type[T]) -> T:
        """The answer of a running scheduler's endpoint."""
        from bayplan.cli.scheduler_query import SchedulerQuery

        if self.snapshots:
            raise click.UsageError("--server and --snapshot exclude each other; give one of them")
        scheduler = SchedulerQuery(
            self._access(),
            server.server,
            lambda: accepted(Configuration.of_file(self.config_file), registry(self.plugins)),
            ca_file=server.certificate_authority,
            insecure=server.insecure_skip_tls_verify,
        )
        return scheduler.ask(path, query, answer)

    def _snapshot(self) -> ClusterObjects:
        from bayplan.explain.object_files import ObjectFileError, read_snapshot

        try:
            return read_snapshot({shown(file): read_text(file) for file in self.snapshots})
        except ObjectFileError as error:
            raise click.ClickException(str(error)) from error


def hide_slow_plugin_warnings() -> None:
    """Until the command ends: they are for operators of a scheduler."""
    logger = logging.getLogger("bayplan.framework")
    click.get_current_context().call_on_close(functools.partial(logger.setLevel, logger.level))
    logger.setLevel(logging.ERROR)


def print_answer(answer: Any, question: ClusterQuestion, lines: Iterable[str]) -> None:
    """*lines* is the text of *answer*."""
    if question.output in ("text", "wide"):
        for line in lines:
            click.echo(line)
        return
    import msgspec

    if question.output == "json":
        encoded = msgspec.json.encode(answer)
        click.echo(msgspec.json.format(encoded, indent=2).decode())
        return
    import yaml

    click.echo(yaml.safe_dump(msgspec.to_builtins(answer), sort_keys=False, allow_unicode=True), nl=False)
