"""The cycles: deciding where one pod goes (scheduling), and making it so (binding).

The scheduling cycle is plain synchronous code over a snapshot. It takes a pod and returns a decision with its
record; it changes nothing but the cycle state, and the snapshot only within a what-if.
"""

from bayplan.cycle.decision import Decision
from bayplan.cycle.handle import ProfileHandle
from bayplan.cycle.scheduling import SchedulingCycle

__all__ = ["Decision", "ProfileHandle", "SchedulingCycle"]
