"""Plugins for the volumes of a pod: binding, provisioning, zones, limits and access restrictions."""
