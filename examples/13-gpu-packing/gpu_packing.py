import numpy as np

from bayplan import Args, FieldError, Plugin, Reads


class PackingArgs(Args):
    resource: str = "nvidia.com/gpu"
    #: Whether pods without GPUs leave nodes with GPUs alone, if they can.
    keep_others_away: bool = True

    def validate(self, path):
        if "/" not in self.resource:
            return [FieldError(path / "resource", "name an extended resource, such as nvidia.com/gpu")]
        return []


class GpuPacking(Plugin[PackingArgs]):
    """Fills nodes with GPUs one after the other, so that large pods find whole nodes free."""

    name = "GpuPacking"
    # The results depend on the nodes, the amounts requested there, and what `sign` returns: they are cached.
    reads = Reads.RESOURCES

    def sign(self, pod):
        return pod.requests.get(self.args.resource, 0)

    def score_nodes(self, state, pod, nodes):
        there, wanted = nodes.allocatable(self.args.resource), pod.requests.get(self.args.resource, 0)
        if wanted:
            used = nodes.requested(self.args.resource) + wanted
            return 100 * used // np.maximum(there, 1)
        return np.where((there > 0) & self.args.keep_others_away, 0, 100)
