from bayplan import Plugin


class BlinkingLightScorer(Plugin):
    """Ranks nodes by how many blinking lights they have."""

    name = "BlinkingLightScorer"

    def score_nodes(self, state, pod, nodes):
        return nodes.label("example.com/blinking-lights").numbers(default=0)

    def normalize_score(self, state, pod, scores, nodes):
        return scores * 100 // max(scores.max(), 1)  # 1 if no node has a light, to avoid a division by zero
