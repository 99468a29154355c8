"""The process that `bayplan run` starts, and its settings."""

from bayplan.process.running import EXIT_FAILED, EXIT_OK, main, run
from bayplan.process.settings import AccessSettings, LogSettings, Settings

__all__ = ["EXIT_FAILED", "EXIT_OK", "AccessSettings", "LogSettings", "Settings", "main", "run"]
