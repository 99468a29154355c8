"""Profile: the plugins of a configured profile, and what runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.core.evaluation import ProfileEvaluation
    from bayplan.core.profile_handle import ProfileHandle
    from bayplan.framework import BindingRunner, ProfilePlugins, Runner


@dataclass(slots=True, frozen=True)
class Profile:
    """What the core has for one profile of the configuration."""

    name: str
    plugins: ProfilePlugins
    runner: Runner
    binding: BindingRunner
    evaluation: ProfileEvaluation
    handle: ProfileHandle
