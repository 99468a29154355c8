from bayplan import Plugin, Status


class CpuNodes(Plugin):
    """Only nodes labelled cpu=true."""

    name = "CpuNodes"

    def filter(self, state, pod, node):
        if node.labels.get("cpu") != "true":
            return Status.unresolvable("node(s) had no label cpu=true")
