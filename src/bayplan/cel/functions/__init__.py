"""The functions of the environments of Kubernetes: what they are called with, what they do, what they cost."""
