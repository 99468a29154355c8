"""Controllers: clients that make the cluster be what its objects say.

The ones that a cluster without kube-controller-manager needs to be a cluster (ReplicaSets get their pods, deleted
namespaces get empty, …), and those of our own custom resources. Each is one file: a class with a `reconcile` that
is called for one object at a time and may be called at any time.
"""
