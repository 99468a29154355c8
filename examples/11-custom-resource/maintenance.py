from bayplan import Action, ClusterEvent, Plugin, Status


class MaintenanceWindows(Plugin):
    """Rejects nodes that are named by a Maintenance object."""

    name = "MaintenanceWindows"
    # When an object changes or is deleted, rejected pods are retried.
    events_to_register = (ClusterEvent("maintenances.v1.example.com", Action.UPDATE | Action.DELETE),)

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.windows = handle.informers.custom("example.com/v1", "maintenances")

    def pre_filter(self, state, pod, nodes):
        state.write(self.name, frozenset(window["spec"]["node"] for window in self.windows.list()))

    def filter(self, state, pod, node):
        if node.name in state.read(self.name, frozenset):
            return Status.unresolvable("node(s) were under maintenance")
