"""The end-to-end benchmark: Bayplan and a stock kube-scheduler alternately, on one real control plane.

`python -m bench.e2e` runs the plan (`plan`), phase by phase (`phase`): the cluster is set up for the workload
(`scene`), one scheduler is started (`contestants`), the driver creates pods and watches their binds (`driver`),
and the results are written as a line of JSON (`record`). `report` generates Markdown and plots from the lines.
"""
