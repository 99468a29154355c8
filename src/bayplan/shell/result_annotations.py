"""ResultAnnotations: the results of an attempt as annotations of the pod, as kube-scheduler-simulator writes them.

Its web interface shows them: node by node, what each Filter plugin said and what each Score plugin gave. They are
written on request only, because every attempt costs one more request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from bayplan.client.errors import ClientError, NotFoundError
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.client import KubeClient
    from bayplan.core import SchedulerCore
    from bayplan.model import Pod
    from bayplan.observe.record import FilterView, Record, Ring, ScoreView

log = klog.get_logger("bayplan.shell")

PREFIX: Final = "kube-scheduler-simulator.sigs.k8s.io/"
PASSED: Final = "passed"
NOMINATED: Final = "preemption victim"
#: The reasons of the events that end an attempt.
ATTEMPT_ENDED: Final = frozenset({"Scheduled", "FailedScheduling"})
#: The API server refuses annotations of more than 256 KiB in all; others need some of that.
MAX_BYTES: Final = 200 * 1024

#: Node → plugin → text.
Results = dict[str, dict[str, str]]


class ResultAnnotations:
    """Writes the annotations of pods whose attempts have ended."""

    def __init__(self, core: SchedulerCore, records: Ring, client: KubeClient) -> None:
        self._core = core
        self._records = records
        self._client = client

    async def write(self, pod: Pod) -> None:
        record = self._records.latest(pod.key)
        if record is None or record.pod_uid != pod.uid:
            return
        profile = self._core.profiles[record.profile_name]
        filters = [method.name for method in profile.plugins.on("filter")]
        nominated = self._core.nominator.node_by_pod.get(pod.uid, "") if record.preemption is not None else ""
        annotations = result_annotations(record, filters, nominated)
        known = self._core.pods.get(pod.key, pod)
        if all(known.annotations.get(key) == text for key, text in annotations.items()):
            return  # an update without news would only wake the pod again
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        # With the uid, a newer pod of the same name stays as it is.
        body = {"metadata": {"uid": pod.uid, "annotations": annotations}}
        try:
            await self._client.request("PATCH", path, body)
        except NotFoundError:
            pass  # the pod is gone
        except ClientError as error:
            log.error(error, "Cannot write the results of the attempt to the pod", pod=pod)


def result_annotations(
    record: Record, filters: Iterable[str], nominated: str = "", *, max_bytes: int = MAX_BYTES
) -> dict[str, str]:
    """*nominated*: the node on which preemption makes room.

    Of as many nodes as fit into *max_bytes*: those with the highest scores first, then those that were
    rejected."""
    raw, final = _scores(record.scores, final=False), _scores(record.scores, final=True)
    filtered = _filter_results(record.filter, tuple(filters))
    post_filter: Results = {}
    if nominated:
        post_filter[nominated] = {"DefaultPreemption": NOMINATED}
    kept = _fitting(_ranked(record, filtered), (filtered, raw, final), max_bytes)
    return {
        f"{PREFIX}filter-result": _json(filtered, kept),
        f"{PREFIX}postfilter-result": _json(post_filter, post_filter),
        f"{PREFIX}score-result": _json(raw, kept),
        f"{PREFIX}finalscore-result": _json(final, kept),
        f"{PREFIX}selected-node": record.node_name,
    }


def _filter_results(outcome: FilterView | None, filters: tuple[str, ...]) -> Results:
    """Of each node: the plugins that passed it, up to the one that rejected it, if one did."""
    if outcome is None:
        return {}
    passed = dict.fromkeys(filters, PASSED)
    found: Results = {}
    for position, name in enumerate(outcome.nodes.names.tolist()):
        status = None if outcome.feasible[position] else _status(outcome, position)
        if status is None:
            if outcome.feasible[position]:
                found[name] = passed
            continue
        before = filters[: filters.index(status.plugin)] if status.plugin in filters else ()
        found[name] = {**dict.fromkeys(before, PASSED), status.plugin: status.message}
    return found


def _status(outcome: Any, position: int) -> Any:
    """None for a node that was not looked at."""
    return outcome.status(position)


def _scores(scores: ScoreView | None, *, final: bool) -> Results:
    if scores is None:
        return {}
    columns = {plugin: (own.weighted if final else own.raw).tolist() for plugin, own in scores.by_plugin.items()}
    return {
        name: {plugin: str(int(column[position])) for plugin, column in columns.items()}
        for position, name in enumerate(scores.nodes.names.tolist())
    }


def _ranked(record: Record, filtered: Results) -> list[str]:
    """The nodes, the most telling ones first."""
    names = [record.node_name] if record.node_name else []
    if record.scores is not None:
        order = np.argsort(-np.asarray(record.scores.totals), kind="stable")
        names += record.scores.nodes.names[order].tolist()
    return list(dict.fromkeys([*names, *filtered]))


def _fitting(names: Iterable[str], results: Iterable[Results], max_bytes: int) -> dict[str, None]:
    kept: dict[str, None] = {}
    every = list(results)
    for name in names:
        max_bytes -= sum(_n_bytes(name, each[name]) for each in every if name in each)
        if max_bytes < 0:
            break
        kept[name] = None
    return kept


def _n_bytes(name: str, texts: Mapping[str, str]) -> int:
    return len(msgspec.json.encode({name: texts}))


def _json(results: Results, names: Iterable[str]) -> str:
    """Sorted, as Go writes maps."""
    chosen = {name: results[name] for name in sorted(names) if name in results}
    return msgspec.json.encode(chosen, order="sorted").decode()
