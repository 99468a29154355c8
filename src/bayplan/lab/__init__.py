"""The lab: schedule a trace in virtual time, with the real queue, cycle, preemption and Permit.

from bayplan.lab import read_trace, simulate

results = simulate(read_trace("nodes.csv", "pods.csv"))
results.summary()["gpu_allocation_rate"]
results.waiting_seconds          # NumPy
"""

from bayplan.lab.results import Results
from bayplan.lab.simulation import SimulationOptions, run_simulation, simulate
from bayplan.lab.trace import NodeDeparture, ObjectArrival, PodArrival, Trace, TraceError
from bayplan.lab.trace_readers import TraceReader, read_trace
from bayplan.lab.workload import WorkloadOptions, renamed

__all__ = [
    "NodeDeparture",
    "ObjectArrival",
    "PodArrival",
    "Results",
    "SimulationOptions",
    "Trace",
    "TraceError",
    "TraceReader",
    "WorkloadOptions",
    "read_trace",
    "renamed",
    "run_simulation",
    "simulate",
]
