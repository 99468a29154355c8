from bayplan import Plugin, Status


class FlakyDisk(Plugin):
    """Fails to prepare the disk of each pod the first time."""

    name = "FlakyDisk"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.tried = set()

    async def pre_bind(self, state, pod, node_name):
        if pod.uid not in self.tried:
            self.tried.add(pod.uid)
            return Status.failed("the disk is not there yet")
