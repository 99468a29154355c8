"""Plugins that look at one node by itself: its name, labels, taints, ports, features, images and pod states."""
