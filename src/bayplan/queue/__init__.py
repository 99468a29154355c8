"""The queue: pods that wait to be scheduled, and the nodes they were promised. Pure; the clock is injected."""

from bayplan.queue.nominator import PodNominator

__all__ = ["PodNominator"]
