"""Plugins of the scheduling queue: its order, and the gates that keep a pod out of it."""
