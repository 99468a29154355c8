"""Migrates NodeLabel, which checked nodes for label keys, to the addedAffinity of NodeAffinity."""

from __future__ import annotations

from typing import Any

from bayplan.config.migrate.drafts import DraftMap
from bayplan.config.migrate.scoring import args_of
from bayplan.config.problems import Mark

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Labels:
    """The labels that NodeLabel required or preferred, present or absent."""

    def __init__(self) -> None:
        self.required: list[dict[str, Any]] = []
        self.preferred: list[dict[str, Any]] = []

    def require(self, labels: list[str], *, present: bool) -> None:
        self.required += [_expression(label, present) for label in labels]

    def prefer(self, labels: list[str], *, present: bool) -> None:
        self.preferred += [
            {"weight": 1, "preference": {"matchExpressions": [_expression(label, present)]}} for label in labels
        ]

    def add_to(self, profile: DraftMap, mark: Mark) -> int:
        """Write them into NodeAffinityArgs; returns the position of the pluginConfig entry."""
        position, args = args_of(profile, "NodeAffinity", mark)
        affinity = args.map("addedAffinity")
        if self.required:
            terms = affinity.map(REQUIRED).list("nodeSelectorTerms")
            if not terms:
                terms.append({"matchExpressions": self.required})
            for _, term in terms.maps():  # every term must require the labels too
                term.list("matchExpressions").extend(self.required)
        if self.preferred:
            affinity.list(PREFERRED).extend(self.preferred)
        return position


def _expression(label: str, present: bool) -> dict[str, Any]:
    return {"key": label, "operator": "Exists" if present else "DoesNotExist"}
