"""CapacityScheduling: elastic quotas and the preemption that returns borrowed capacity."""
