"""Plugins that compare what a pod requests with what nodes have, and the arithmetic of their scores."""
