"""The cache: what the scheduler knows of the cluster, as columns over the nodes.

Comes in: nodes and pods as they come, change and go, and pods that were assumed to be on a node before the API
server says so. Goes out: a snapshot that a cycle reads. Counts are kept up to date by ±1 instead of being
recounted. No I/O, no clock of its own.
"""

from bayplan.cache.cache import Cache, CacheError

__all__ = ["Cache", "CacheError"]
