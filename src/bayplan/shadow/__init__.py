"""Shadow: what Bayplan would have done with every pod that another scheduler places. Read-only.

In: the changes of a cluster, as a watch shows them. Out: a `ShadowRecord` for every placed pod and configuration.
No I/O: `process.shadowing` reads the cluster and writes the records.
"""
