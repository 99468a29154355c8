from bayplan import Plugin, Status

PAIR = "example.com/pair"


class Pairs(Plugin):
    """Pods with the label example.com/pair start in pairs: the first waits for the second, at most a minute."""

    name = "Pairs"

    def permit(self, state, pod, node_name):
        pair = pod.labels.get(PAIR)
        if pair is None:
            return None
        partner = next((other for other in self.handle.waiting_pods if other.pod.labels.get(PAIR) == pair), None)
        if partner is None:
            return Status.wait(timeout_seconds=60)
        partner.allow(self.name)
        return None
