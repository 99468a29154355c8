"""The flags of `bayplan run`: kube-scheduler's, as a table, as click options and as settings of the process."""
