"""CoschedulingArgs: how long the members of a group wait for each other, and when a group is rejected."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from bayplan.config.api_object import Int32, Int64
from bayplan.config.args.base import Args
from bayplan.config.field_path import Path
from bayplan.config.problems import FieldError


class CoschedulingArgs(Args):
    """The arguments of scheduler-plugins v0.34."""

    RETIRED: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "deniedPGExpirationTimeSeconds": "podGroupBackoffSeconds delays a rejected group",
            "kubeMaster": "use clientConnection",
            "kubeConfigPath": "use clientConnection.kubeconfig",
        }
    )

    #: How long Permit holds a pod whose group has no timeout.
    permit_waiting_time_seconds: Int64 = 60
    #: How long a rejected group is not tried.
    pod_group_backoff_seconds: Int64 = 0
    #: A group that lacks no more than this part of minMember is not rejected when one of its pods fails.
    pod_group_reject_percentage: Int32 = 10

    def validate(self, path: Path) -> list[FieldError]:
        errors = []
        for field, seconds in (
            ("permitWaitingTimeSeconds", self.permit_waiting_time_seconds),
            ("podGroupBackoffSeconds", self.pod_group_backoff_seconds),
        ):
            if seconds < 0:
                errors.append(FieldError(path / field, f"{seconds} must not be negative"))
        percentage = self.pod_group_reject_percentage
        if not 0 <= percentage <= 100:
            errors.append(FieldError(path / "podGroupRejectPercentage", f"{percentage} is not between 0 and 100"))
        return errors
