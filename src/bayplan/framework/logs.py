"""Logging for plugins: structured messages in the format of Kubernetes components. See `observe.klog`."""

from bayplan.observe.klog import Logger, Ref, get_logger

__all__ = ["Logger", "Ref", "get_logger"]
