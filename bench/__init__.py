"""Benchmarks. `make bench` measures decisions alone: no API server, no queue, one core."""
