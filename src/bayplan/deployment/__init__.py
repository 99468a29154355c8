"""Deploying the scheduler: the objects that a cluster needs, with no more rights than it uses."""
