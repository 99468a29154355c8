from bayplan import Plugin, Status

GIB = 1024**3


class CustomPlugin(Plugin):
    """Only nodes with the custom label; the more memory, the better."""

    name = "CustomPlugin"

    def filter(self, state, pod, node):
        if node.labels.get("custom-label") != "true":
            return Status.unschedulable("node doesn't have required custom label")

    def score(self, state, pod, node):
        return node.allocatable["memory"] // GIB


class NormalizedPlugin(CustomPlugin):
    """The same, with scores that stay within 0 to 100 however large the nodes are."""

    name = "NormalizedPlugin"

    def normalize_score(self, state, pod, scores, nodes):
        return scores * 100 // max(scores.max(), 1)
