"""Controllers: clients that bring the cluster to the state that its objects describe.

The controllers that a cluster without kube-controller-manager needs (ReplicaSets get their pods, deleted
namespaces are emptied, …), and those of our own custom resources. Each is one module with a class whose
`reconcile` is called for one object at a time and may be called at any time.
"""
