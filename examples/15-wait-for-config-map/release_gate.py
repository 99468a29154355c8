from bayplan import ConfigMap, Plugin, Status

RELEASE = "example.com/release"


class ReleaseGate(Plugin):
    """A pod with the label example.com/release starts when the ConfigMap of that name says approved: "true"."""

    name = "ReleaseGate"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.approved = set()
        handle.informers.on_change(ConfigMap, self._map_changed, labels="example.com/kind=release")

    def _map_changed(self, old, new):
        present = new or old
        release = present.namespace, present.name
        if new is not None and new.data.get("approved") == "true":
            self.approved.add(release)
            self._allow(release)
        else:
            self.approved.discard(release)

    def _allow(self, release):
        for waiting in self.handle.waiting_pods:
            if (waiting.pod.namespace, waiting.pod.labels.get(RELEASE)) == release:
                waiting.allow(self.name)

    def permit(self, state, pod, node_name):
        release = pod.labels.get(RELEASE)
        if release is None or (pod.namespace, release) in self.approved:
            return None
        return Status.wait(timeout_seconds=600)
