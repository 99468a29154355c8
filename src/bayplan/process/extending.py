"""The process of `bayplan extender serve`: plugins behind a port, with the nodes of a cluster if there is one."""

from __future__ import annotations

import asyncio
import logging
import signal
import ssl
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from bayplan.client import AccessError, HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock
from bayplan.core import Profile
from bayplan.extender.app import PRIORITIZE
from bayplan.extender.hosting import PluginHost
from bayplan.extender.scaling import describe_loss
from bayplan.extender.server import ExtenderServer
from bayplan.extender.stanza import ExtenderAddress, stanza
from bayplan.framework.extenders import MAX_EXTENDER_SCORE
from bayplan.observe import klog
from bayplan.process.mirror import ClusterMirror
from bayplan.process.usage_plugins import usage_based
from bayplan.scheduler import new_core
from bayplan.server.serving_certificates import (
    ServingError,
    load_pair,
    make_context,
    pair_in,
    read_pair,
    trust_clients,
)
from bayplan.shell.background_tasks import BackgroundTasks

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Registry

log = klog.get_logger("bayplan.extender")

LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
SHUTDOWN_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class ExtenderSettings:
    """What the flags say."""

    address: str = "127.0.0.1"
    port: int = 8888
    #: Empty: no cluster; nodes come with the requests.
    kubeconfig: str = ""
    certificate_file: str = ""
    key_file: str = ""
    #: Where a self-signed certificate is kept, and made if there is none.
    self_signed_dir: str = ""
    client_ca_file: str = ""
    token_file: str = ""
    top_score: int = MAX_EXTENDER_SCORE
    #: How schedulers reach us; empty: as we listen.
    url: str = ""
    verbosity: int = 0

    @property
    def is_secure(self) -> bool:
        return bool(self.certificate_file or self.self_signed_dir)


class NotEnabledError(Exception):
    """A plugin is to be served that the configuration does not enable."""


def restricted(loaded: Loaded, names: Sequence[str], profile_name: str = "") -> Loaded:
    """The configuration with one profile, in which the plugins *names* are alone. Raises NotEnabledError."""
    profiles = {profile.scheduler_name: profile for profile in loaded.profiles}
    profile = profiles.get(profile_name) if profile_name else loaded.profiles[0]
    if profile is None:
        raise NotEnabledError(f"there is no profile {profile_name!r}; there are {', '.join(profiles)}")
    points = {
        point: tuple(each for each in enabled if each.name in names) for point, enabled in profile.points.items()
    }
    missing = set(names) - {each.name for enabled in points.values() for each in enabled}
    if missing:
        listed = ", ".join(sorted(missing))
        raise NotEnabledError(f"the profile {profile.scheduler_name!r} does not enable {listed}")
    return msgspec.structs.replace(
        loaded,
        config=msgspec.structs.replace(loaded.config, extenders=()),
        profiles=(msgspec.structs.replace(profile, points=points),),
    )


class ExtenderProcess:
    """One extender, wired up; `run` it once."""

    def __init__(self, loaded: Loaded, registry: Registry, settings: ExtenderSettings) -> None:
        """*loaded* is restricted to what is served. Raises AccessError, ServingError."""
        self._settings = settings
        self._clock = SystemClock()
        self._stop = asyncio.Event()
        self._background = BackgroundTasks(self._clock)
        options: dict[str, Any] = {
            "clock": self._clock,
            "schedules_pods": False,
            "background": self._background,
        }
        client: KubeClient | None = None
        if settings.kubeconfig:
            transport = HttpTransport(load_access(settings.kubeconfig), self._clock)
            options["client"] = client = KubeClient(transport, self._clock)
        core = self._core = new_core(loaded, registry, **options)
        self._mirror = ClusterMirror(core, client, self._clock) if client is not None else None
        self._profile: Profile = next(iter(core.profiles.values()))
        host = PluginHost(
            self._profile,
            core.cache,
            find_pod=self._mirror.find_pod if self._mirror is not None else None,
            top_score=settings.top_score,
        )
        self._app = host.app()
        self._server = ExtenderServer(self._app, token=_token(settings), trouble=self._trouble)

    def stanza(self) -> str:
        """What to paste into the scheduler's configuration."""
        settings = self._settings
        scheme = "https" if settings.is_secure else "http"
        url = settings.url or f"{scheme}://{settings.address}:{settings.port}"
        authority = Path(_pair_files(settings)[0]).read_bytes() if settings.self_signed_dir else b""
        reached = ExtenderAddress(
            url,
            server_name="localhost" if authority and not url.startswith(f"https://{settings.address}:") else "",
            authority=authority,
            wants_certificate=bool(settings.client_ca_file),
            has_nodes=self._mirror is not None,
        )
        return stanza(reached, self._app.verbs)

    async def run(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._stop.set)
        await self.start_and_wait()

    async def start_and_wait(self) -> None:
        runner = web.ServerRunner(self._server.server(), shutdown_timeout=SHUTDOWN_SECONDS)
        await runner.setup()
        try:
            await self._listen(runner)
            self._background.begin()
            if self._mirror is not None:
                await self._mirror.start()
            await self._stop.wait()
        finally:
            await runner.cleanup()
            await self._background.stop(self._core.close)
            if self._mirror is not None:
                await self._mirror.stop()

    async def _listen(self, runner: web.ServerRunner) -> None:
        settings = self._settings
        site = web.TCPSite(runner, settings.address, settings.port, ssl_context=_context(settings))
        try:
            await site.start()
        except OSError as error:
            where = f"{settings.address}:{settings.port}"
            raise ServingError(f"cannot serve on {where}: {error.strerror or error}") from None
        log.info("Serving as an extender", address=settings.address, port=runner.addresses[0][1])
        log.info("Verbs", verbs=list(self._app.verbs), plugins=list(self._profile.plugins.plugins))
        if PRIORITIZE in self._app.verbs:
            log.info(f"Scores: {describe_loss(top=settings.top_score)}")
        self._warn_of_empty_nodes()
        if settings.address not in LOOPBACK and not (settings.token_file or settings.client_ca_file):
            log.info("Anyone who can reach this port can use it: neither --token-file nor --client-ca-file is set")

    def _warn_of_empty_nodes(self) -> None:
        plugins = usage_based(self._profile.plugins.plugins.values()) if self._mirror is None else []
        if plugins:
            logging.getLogger("bayplan.extender").warning(
                "Without --kubeconfig every node seems empty to %s: a scheduler sends nodes without the pods on "
                "them. Give --kubeconfig, so that the pods are read from the cluster",
                ", ".join(plugins),
            )

    def _trouble(self) -> str:
        if self._mirror is not None and not self._mirror.is_synced:
            return "the nodes of the cluster are not read yet"
        return ""


def main(loaded: Loaded, registry: Registry, settings: ExtenderSettings, *, print_config: bool = False) -> int:
    """Serve until a signal; the exit status."""
    klog.set_up(settings.verbosity)
    try:
        if print_config:
            with asyncio.Runner() as runner:
                sys.stdout.write(runner.run(_stanza(loaded, registry, settings)))
        else:
            with asyncio.Runner() as runner:
                runner.run(_run(loaded, registry, settings))
    except (AccessError, ServingError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


async def _run(loaded: Loaded, registry: Registry, settings: ExtenderSettings) -> None:
    await ExtenderProcess(loaded, registry, settings).run()


async def _stanza(loaded: Loaded, registry: Registry, settings: ExtenderSettings) -> str:
    return ExtenderProcess(loaded, registry, settings).stanza()


def _token(settings: ExtenderSettings) -> str:
    if not settings.token_file:
        return ""
    try:
        token = Path(settings.token_file).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServingError(f"cannot read the token: {settings.token_file}: {error}") from None
    if not token:
        raise ServingError(f"cannot read the token: {settings.token_file} is empty")
    return token


def _pair_files(settings: ExtenderSettings) -> tuple[str, str]:
    if settings.self_signed_dir:
        addresses = [settings.address] if settings.address.count(".") == 3 else []
        return pair_in(settings.self_signed_dir, addresses=addresses)
    if not (settings.certificate_file and settings.key_file):
        raise ServingError("--tls-cert-file and --tls-private-key-file go together; one of them is missing")
    return settings.certificate_file, settings.key_file


def _context(settings: ExtenderSettings) -> ssl.SSLContext | None:
    if not settings.is_secure:
        return None
    context: ssl.SSLContext = make_context()
    files = _pair_files(settings)
    load_pair(context, read_pair(*files), files[0])
    if settings.client_ca_file:
        try:
            authorities = Path(settings.client_ca_file).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise ServingError(f"cannot read the client certificate authority: {error}") from None
        trust_clients(context, authorities, settings.client_ca_file)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
