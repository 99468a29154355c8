"""The published schemas of Kubernetes, and how Go writes the fields of each type as JSON."""
