from datetime import UTC, datetime

from bayplan import Plugin

ANNOTATION = "example.com/deadline"
NEVER = datetime.max.replace(tzinfo=UTC)


class EarliestDeadline(Plugin):
    """Pods of higher priority first; with equal priority, the one with the earliest deadline."""

    name = "EarliestDeadline"

    def sort_key(self, pod_info):
        deadline = pod_info.pod.annotations.get(ANNOTATION, "")
        return -pod_info.pod.priority, read_time(deadline), pod_info.timestamp


def read_time(text):
    """Annotations are written by users: what is no time is no deadline, and all keys have the same types."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return NEVER
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
