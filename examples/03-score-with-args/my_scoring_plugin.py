from bayplan import Args, Plugin
from bayplan.framework import default_normalize


class MyScoringArgs(Args):
    """The fields under pluginConfig, with their defaults."""

    label: str = "example.com/rank"
    reverse: bool = False


class MyScoringPlugin(Plugin[MyScoringArgs]):
    """Prefers the nodes with the highest number in the label; with reverse, the lowest."""

    name = "MyScoringPlugin"

    def score(self, state, pod, node):
        value = node.labels.get(self.args.label, "0")
        return int(value) if value.isdigit() else 0

    def normalize_score(self, state, pod, scores, nodes):
        return default_normalize(scores, reverse=self.args.reverse)
