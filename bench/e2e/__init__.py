"""The end-to-end benchmark: Bayplan and a stock kube-scheduler in turn, on one real control plane.

`python -m bench.e2e` runs the plan (`plan`), phase by phase (`phase`): the cluster is brought into the workload's
state (`scene`), one scheduler is started (`contestants`), the driver creates pods and watches them being bound
(`driver`), and what it cost is kept as a line of JSON (`record`). `report` makes Markdown and plots of the lines.
"""
