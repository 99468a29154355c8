"""The core: the scheduler without I/O.

`SchedulerCore` takes inputs and returns instructions (`messages`); `schedule_one` is the life of a pod.
"""

from bayplan.core.decision import Decision, Failure
from bayplan.core.profile import Profile
from bayplan.core.scheduler_core import SchedulerCore

__all__ = ["Decision", "Failure", "Profile", "SchedulerCore"]
