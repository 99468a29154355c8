"""Plugins for devices: resource claims."""
