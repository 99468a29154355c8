from bayplan import Plugin

ANNOTATION = "example.com/minutes"


class ShortestFirst(Plugin):
    """Pods of higher priority first; with equal priority, the one with the shortest declared run time."""

    name = "ShortestFirst"

    def sort_key(self, pod_info):
        minutes = pod_info.pod.annotations.get(ANNOTATION, "")
        return -pod_info.pod.priority, int(minutes) if minutes.isdigit() else 1_000_000, pod_info.timestamp
