from bayplan import Plugin, Status
from bayplan.model import DeviceClass


class Neighbours(Plugin):
    """Prefers nodes where the devices that a pod would get are linked with each other."""

    name = "Neighbours"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.classes = handle.informers.lister(DeviceClass)

    def pre_score(self, state, pod, nodes):
        claims = self.handle.devices.claims.of_pod(pod)
        state.write(self.name, claims)
        return None if claims else Status.skip()

    def score(self, state, pod, node):
        claims = state.read(self.name, list)
        devices = self.handle.devices.would_take(claims, node.node, self.classes.get)
        links = {device.spec.attributes["nvlink"].int_ for device in devices or ()}
        return 100 // len(links) if links else 0
