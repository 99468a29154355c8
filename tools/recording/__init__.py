"""Records what a release of Kubernetes does, for `make record`: a module for each kind of recording."""
