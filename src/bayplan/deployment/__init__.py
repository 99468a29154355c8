"""Deploying the scheduler: the objects that a cluster needs, with no more permissions than the scheduler uses."""
