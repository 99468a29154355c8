"""The cache: nodes and the pods on them, as columns over the nodes.

In: nodes and pods as they are added, changed and removed, and pods assumed on a node before the API server
confirms the bind. Out: the snapshot that a scheduling cycle reads. Counts are updated incrementally, not recounted
per pod. No I/O, no clock.
"""

from bayplan.cache.cache import Cache, CacheError, CacheSnapshot

__all__ = ["Cache", "CacheError", "CacheSnapshot"]
