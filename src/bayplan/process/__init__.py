"""The process: what `bayplan run` starts, and what its flags set."""

from bayplan.process.running import EXIT_FAILED, EXIT_OK, main, run
from bayplan.process.settings import AccessSettings, LogSettings, Settings

__all__ = ["EXIT_FAILED", "EXIT_OK", "AccessSettings", "LogSettings", "Settings", "main", "run"]
