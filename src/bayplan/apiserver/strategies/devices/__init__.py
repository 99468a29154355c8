"""Validation of resource.k8s.io: device requests, claims and their status, slices and their devices."""
