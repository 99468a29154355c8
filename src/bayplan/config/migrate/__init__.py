"""Migrates older configurations to KubeSchedulerConfiguration v1.

`migrate_tree` is for loading: it keeps the positions of the old file. `migrate` is for people: it prints the
v1 file with a comment for everything that changed or has no equivalent.
"""

from __future__ import annotations

from bayplan.config.migrate.betas import migrate_beta
from bayplan.config.migrate.notes import Migration, Note
from bayplan.config.migrate.policy import migrate_policy
from bayplan.config.migrate.printer import print_yaml
from bayplan.config.tree import Mapping

__all__ = ["Migration", "Note", "migrate_tree", "print_yaml"]


def migrate_tree(root: Mapping, version: str) -> Migration:
    """Migrate a file of `version` (a beta, or `Policy`) to v1; v1 itself is returned unchanged."""
    if version == "v1":
        return Migration(root, [])
    return migrate_policy(root) if version == "Policy" else migrate_beta(root, version)
