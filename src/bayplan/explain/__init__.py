"""Why a pod is where it is, why it waits, and what would help.

In: a cluster's objects (of a file, of an API server, of a running scheduler) and a pod. Out: an `Explanation`, as
data. The scheduler's own filters and scores give every answer, and verify every suggestion before it is made.
Nothing here writes to a cluster.
"""
