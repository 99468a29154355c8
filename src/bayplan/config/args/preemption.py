"""DefaultPreemptionArgs and PreemptionTolerationArgs: how many candidate nodes preemption evaluates."""

from __future__ import annotations

from bayplan.config.api_object import Int32
from bayplan.config.args.base import Args
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError


class DefaultPreemptionArgs(Args):
    """The number of candidate nodes is the larger of the two minima."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100

    def validate(self, path: Path) -> list[FieldError]:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        errors = []
        if not 0 <= percentage <= 100:
            errors.append(
                FieldError(path / "minCandidateNodesPercentage", f"{percentage} is not between 0 and 100")
            )
        if absolute < 0:
            errors.append(FieldError(path / "minCandidateNodesAbsolute", f"{absolute} must not be negative"))
        if percentage == 0 and absolute == 0:
            message = "minCandidateNodesPercentage and minCandidateNodesAbsolute must not both be 0"
            errors.append(FieldError(path / "minCandidateNodesPercentage", message))
            errors.append(FieldError(path / "minCandidateNodesAbsolute", message))
        return errors


class PreemptionTolerationArgs(DefaultPreemptionArgs):
    """The same for PreemptionToleration."""
