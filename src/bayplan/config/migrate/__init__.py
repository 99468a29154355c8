"""Older configurations, turned into KubeSchedulerConfiguration v1."""

from __future__ import annotations

from bayplan.config.migrate.notes import Migration
from bayplan.config.tree import Mapping

__all__ = ["Migration", "migrate_tree"]


def migrate_tree(root: Mapping, version: str) -> Migration:
    return Migration(root, [])
