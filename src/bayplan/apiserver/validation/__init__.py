"""Validation that several kinds share, in the words of Kubernetes: names, metadata, quantities, selectors.

Each function takes a value with its field path and returns the findings (`field_errors`).
"""
