"""Pods: defaults, validation and warnings, for pods themselves and for the templates of workloads."""
