"""The lines at V(10): every score of every node, in kube-scheduler's words. Callers check the verbosity first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.framework import Status

if TYPE_CHECKING:
    from bayplan.framework import ScoreOutcome
    from bayplan.model import Pod
    from bayplan.observe.klog import Logger


def log_plugin_scores(log: Logger, pod: Pod, scores: ScoreOutcome | Status) -> None:
    """The weighted score of each plugin, node by node."""
    if isinstance(scores, Status):
        return
    columns = {plugin: own.weighted.tolist() for plugin, own in scores.by_plugin.items()}
    for position, node in enumerate(scores.nodes.names.tolist()):
        for plugin, column in columns.items():
            score = int(column[position])
            log.info("Plugin scored node for pod", v=10, depth=1, pod=pod, plugin=plugin, node=node, score=score)


def log_totals(log: Logger, pod: Pod, scores: ScoreOutcome | Status) -> None:
    """The total of each node."""
    if isinstance(scores, Status):
        return
    for node, total in zip(scores.nodes.names.tolist(), scores.totals.tolist(), strict=True):
        log.info("Calculated node's final score for pod", v=10, depth=1, pod=pod, node=node, score=total)
