"""PluginTimeoutError: raised in the middle of a plugin's method that takes longer than --plugin-timeout."""

from __future__ import annotations


class PluginTimeoutError(BaseException):
    """Not an Exception: a plugin that catches those must not catch this one."""
