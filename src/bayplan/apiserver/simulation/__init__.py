"""What makes an API server a cluster: simulated nodes, their kubelets, and manifests to start with."""
