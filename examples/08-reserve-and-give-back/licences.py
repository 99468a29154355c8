from bayplan import Args, Plugin, Pod, Status

ANNOTATION = "example.com/licence"


class LicenceArgs(Args):
    seats: int = 1


class Licences(Plugin[LicenceArgs]):
    """Limits how many pods with the annotation example.com/licence run at a time in the cluster."""

    name = "Licences"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.taken = {}
        handle.informers.on_change(Pod, self._pod_changed)

    def carry_over(self, old):
        self.taken = old.taken  # the same dictionary: pods that are being bound still use the old instance

    def pre_filter(self, state, pod, nodes):
        if ANNOTATION not in pod.annotations:
            return Status.skip()
        if len(self.taken) >= self.args.seats:
            return Status.unschedulable(f"all {self.args.seats} licence seats are taken")
        return None

    def reserve(self, state, pod, node_name):
        if ANNOTATION in pod.annotations:
            self.taken[pod.uid] = pod.name

    def unreserve(self, state, pod, node_name):
        self.taken.pop(pod.uid, None)  # also called if our reserve was never called

    def _pod_changed(self, old, new):
        if new is None or new.is_terminal:
            self.taken.pop((new or old).uid, None)
