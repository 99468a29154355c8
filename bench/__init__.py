"""Benchmarks. `python -m bench` measures decisions alone: no API server, no queue, one core; `python -m
bench.apiserver` measures the embedded API server beside the real one; `python -m bench.e2e` measures
Bayplan beside kube-scheduler, both against the real one."""
