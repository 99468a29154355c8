"""Reloading: a plugin's file that is saved while the scheduler runs is at work from the next cycle on.

In: the files that plugins were loaded from. Out: a service with other plugins. A file that does not
load leaves everything as it is, and the log says why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayplan.config import ConfigError, Loaded
from bayplan.framework import PluginError, Registry

if TYPE_CHECKING:
    from bayplan.shell.service import SchedulerService

logger = logging.getLogger("bayplan.reload")

#: How often the files are looked at while there is nothing to schedule.
POLL_SECONDS: Final = 0.5


class WatchedFiles:
    """Files, as they were when somebody last looked."""

    def __init__(self, files: Iterable[str]) -> None:
        self._seen = {file: _stamp(file) for file in files}

    def changed(self) -> list[str]:
        """Those that were saved since; one that is gone for the moment is not."""
        return [file for file, seen in self._seen.items() if (stamp := _stamp(file)) is not None and stamp != seen]

    def note(self, files: Iterable[str]) -> None:
        """They have been looked at."""
        self._seen.update({file: _stamp(file) for file in files})


def _stamp(file: str) -> tuple[int, int, int] | None:
    """Changes whenever the file is saved; None if there is none, or nothing in it yet."""
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_size, status.st_ino) if status.st_size else None


class Reloader:
    """Reloads plugins for a service: give `look` to `SchedulerService.schedule`, and `run` it meanwhile."""

    def __init__(
        self, service: SchedulerService, registry: Registry, configure: Callable[[Registry], Loaded]
    ) -> None:
        """*configure* gives the service's configuration, read with the plugins of a registry."""
        self._service = service
        self._registry = registry
        self._configure = configure
        self._files = WatchedFiles(registry.files)

    async def run(self) -> None:
        """The loop looks before its cycles; while it has nothing to do, it is woken when there is a change."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self._files.changed():
                self._service.wake()

    def look(self) -> None:
        """Load anew what was saved."""
        changed = self._files.changed()
        if not changed:
            return
        self._files.note(changed)
        named = ", ".join(changed)
        try:
            registry = self._registry.reloaded(changed)
            self._service.replace_plugins(self._configure(registry), registry)
        except (PluginError, ConfigError) as error:
            logger.warning("%s: not reloaded, what ran before goes on: %s", named, error)
            return
        self._registry = registry
        logger.info("%s: reloaded", named)
