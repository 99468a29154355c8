"""Logs for plugins: messages with pairs, written as Kubernetes components write them. See `observe.klog`."""

from bayplan.observe.klog import Logger, Ref, get_logger

__all__ = ["Logger", "Ref", "get_logger"]
