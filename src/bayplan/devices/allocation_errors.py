"""Why claims cannot be allocated, other than that no devices are left."""

from __future__ import annotations


class AllocationError(Exception):
    """Something is wrong with a claim, a class or a slice: the attempt is over, whatever other nodes offer."""


class NodeAllocationError(Exception):
    """Something is wrong with the pools of one node."""


class AllocationTimeout(Exception):
    """The search took too long."""
