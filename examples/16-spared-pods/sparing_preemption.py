from bayplan import Plugin, Preemption

SPARED = "example.com/spared"


class SparingPreemption(Plugin):
    """Preemption as usual, except that pods with the label example.com/spared=true are never evicted."""

    name = "SparingPreemption"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        # The numbers of kube-scheduler: how many nodes are tried before the best one is taken.
        self.preemption = Sparing(handle, min_candidate_nodes_percentage=10, min_candidate_nodes_absolute=100)

    def post_filter(self, state, pod, verdicts):
        return self.preemption.preempt(state, pod, verdicts)


class Sparing(Preemption):
    def is_victim(self, node, victim, preemptor):
        return victim.labels.get(SPARED) != "true" and super().is_victim(node, victim, preemptor)
