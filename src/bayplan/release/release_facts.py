"""ReleaseFacts: behaviour and texts that differ between releases without a feature gate.

A fact is named after what is true, not after the release in which it became true. Its default is the value of the
newest release, so that the module of an older one lists only what was different.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """Each field says what is true when it is; plugins read it as `self.handle.release.facts.<name>`."""

    #: Whether profiles have the extension point podGroupPostFilter.
    has_pod_group_post_filter: bool = True
    #: The metrics count scheduling entities, which are pods or pod groups, beside pods; the duration of goroutines
    #: of preemption is hidden, and those of plugins and of the scheduling algorithm are beta.
    counts_entities: bool = True
