from bayplan import Action, ClusterEvent, ConfigMap, Hint, Plugin, Resource, Status, parse_milli


class NamespaceQuota(Plugin):
    """The pods of a namespace request no more cpu than its ConfigMap cpu-quota allows."""

    name = "NamespaceQuota"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.quotas = handle.informers.lister(ConfigMap, fields="metadata.name=cpu-quota")

    def pre_filter(self, state, pod, nodes):
        quota = self.quotas.get("cpu-quota", pod.namespace)
        if quota is None:
            return Status.skip()
        # Pods that are on a node, or on their way to one.
        others = (other for other in self.handle.snapshot.pods() if other.namespace == pod.namespace)
        used = sum(other.requests.get("cpu", 0) for other in others)
        if used + pod.requests.get("cpu", 0) > parse_milli(quota.data.get("cpu", "0")):
            return Status.unresolvable(f"the cpu quota of namespace {pod.namespace} is used up")
        return None

    def filter(self, state, pod, node):
        return None  # a PreFilter plugin that skips needs a Filter to skip

    def events_to_register(self):
        return (
            ClusterEvent(Resource.POD, Action.DELETE, self._after_pod),
            ClusterEvent("configmaps.v1", Action.ADD | Action.UPDATE | Action.DELETE, self._after_quota),
        )

    def _after_pod(self, pod, old, new):
        return Hint.QUEUE if old.namespace == pod.namespace else Hint.SKIP

    def _after_quota(self, pod, old, new):
        return Hint.QUEUE if (new or old).namespace == pod.namespace else Hint.SKIP
