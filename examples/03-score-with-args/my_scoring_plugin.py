from bayplan import Args, Plugin
from bayplan.framework import default_normalize


class MyScoringArgs(Args):
    """Under pluginConfig; whatever is not said there is as here."""

    label: str = "example.com/rank"
    reverse: bool = False


class MyScoringPlugin(Plugin):
    """Prefers the nodes whose label is the highest number; the lowest, with reverse."""

    name = "MyScoringPlugin"
    Args = MyScoringArgs

    def score(self, state, pod, node):
        value = node.labels.get(self.args.label, "0")
        return int(value) if value.isdigit() else 0

    def normalize_score(self, state, pod, scores, nodes):
        return default_normalize(scores, reverse=self.args.reverse)
