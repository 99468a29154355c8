"""Devices: which devices a node can use, which are allocated, and the search for devices that satisfy claims.

Pure: slices, claims and classes in, allocations out. The search takes the same devices as kube-scheduler, because
it looks at pools, slices and devices in the same order and takes the first solution.
"""

from bayplan.devices.allocated_devices import AllocatedDevices
from bayplan.devices.allocation_errors import AllocationError, AllocationTimeout, NodeAllocationError
from bayplan.devices.claim_plans import ClaimPlan, plan_claim
from bayplan.devices.claim_tracker import ClaimTracker
from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.device_index import DeviceIndex
from bayplan.devices.device_manager import DeviceManager
from bayplan.devices.device_search import Deadline, Found, SearchContext, search
from bayplan.devices.pools import NodeDevices
from bayplan.devices.search_results import allocation_results
from bayplan.devices.tainted_slices import TaintedSlices

__all__ = [
    "AllocatedDevices",
    "AllocationError",
    "AllocationTimeout",
    "ClaimPlan",
    "ClaimTracker",
    "Deadline",
    "DeviceFeatures",
    "DeviceIndex",
    "DeviceManager",
    "Found",
    "NodeAllocationError",
    "NodeDevices",
    "SearchContext",
    "TaintedSlices",
    "allocation_results",
    "plan_claim",
    "search",
]
