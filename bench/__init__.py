"""Benchmarks. `python -m bench` measures decisions alone: no API server, no queue, one core; `python -m
bench.apiserver` compares the embedded API server with kube-apiserver and etcd; `python -m bench.e2e` compares
Bayplan with kube-scheduler on a real control plane."""
