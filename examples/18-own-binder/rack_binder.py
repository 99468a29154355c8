from bayplan import ApiError, Plugin, Status

WANTED = "example.com/annotate-rack"
RACK = "example.com/rack"


class RackBinder(Plugin):
    """Binds pods with the label example.com/annotate-rack=true, and writes the rack of the node on the pod.

    The annotations of a Binding become annotations of the pod, in the same step: no container starts without them.
    """

    name = "RackBinder"

    async def bind(self, state, pod, node_name):
        if pod.labels.get(WANTED) != "true":
            return Status.skip()  # the next Bind plugin does it
        node = self.handle.snapshot.nodes.position(node_name)
        rack = self.handle.snapshot.nodes[node].labels.get(RACK, "") if node is not None else ""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            # With the uid, a pod that was created anew under the same name is not bound by mistake.
            "metadata": {"name": pod.name, "uid": pod.uid, "annotations": {RACK: rack}},
            "target": {"kind": "Node", "name": node_name},
        }
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
        try:
            await self.handle.client.request("POST", path, binding)
        except ApiError as error:
            return Status.failed(error)
        return None
