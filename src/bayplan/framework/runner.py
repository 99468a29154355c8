"""The runner of the scheduling cycle: calls the plugins of one profile in order at every extension point.

In: the profile's plugins, as the configuration enables them. Out: statuses and outcomes.
How a single method is called is in `calls`; here is what follows from the results. The runner knows neither the
queue nor the cache. The runner of the binding cycle is in `binding_runner`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from bayplan.framework.calls import (
    PluginCaller,
    PluginMethod,
    ProfilePlugins,
    SlowCall,
    as_status,
    contain,
    wrapped,
)
from bayplan.framework.candidates import EXTENDER_CANDIDATES, ExtenderCandidates, PreemptionReport
from bayplan.framework.evaluator import DirectEvaluator, Evaluator, ScoreOutcome, Scorer
from bayplan.framework.node_search import NodeSearch, SearchPlan
from bayplan.framework.nodes import NodeInfo, NodeTable
from bayplan.framework.plugin import PostFilterResult, PreFilterResult, Reads
from bayplan.framework.state import (
    CallPlan,
    CycleState,
    EquivalenceClass,
    EquivalenceClasses,
    ObjectsVersion,
    SharedCycleState,
    written_since,
)
from bayplan.framework.status import SUCCESS, Code, Status
from bayplan.framework.verdict import BoolArray, Diagnosis, FilterOutcome, MergedVerdicts, Verdict

if TYPE_CHECKING:
    from bayplan.model import Pod

#: upstream maxTimeout: no pod waits longer at Permit.
MAX_PERMIT_SECONDS: Final = 15 * 60

#: The merged verdicts of so many equivalence classes are stored; each has masks over all nodes.
MAX_STORED_VERDICTS: Final = 256

#: What a Filter plugin may read if its result depends on nothing but node objects and the amounts requested.
_AMOUNTS: Final = (Reads.NODE, Reads.ALL_NODES, Reads.RESOURCES)
#: What it may read if its result about a node depends on nothing but that node and the pods on it.
_SAME_NODE: Final = (Reads.NODE, Reads.RESOURCES, Reads.USAGE)

#: Yields candidates, is sent what the extenders left of them, returns the result.
PostFilterSteps: TypeAlias = Generator[PreemptionReport, ExtenderCandidates | None, PostFilterResult]

_NO_RESTRICTION: Final = PreFilterResult()
_NO_PLUGINS: Final[frozenset[str]] = frozenset()


class PreFilterOutcome(NamedTuple):
    """The result of all PreFilter plugins."""

    status: Status
    result: PreFilterResult = _NO_RESTRICTION
    #: Plugins that restricted the nodes.
    narrowed_by: frozenset[str] = _NO_PLUGINS


class PermitOutcome(NamedTuple):
    """The result of all Permit plugins."""

    status: Status
    #: Plugin → seconds, when the status is WAIT.
    waits: Mapping[str, float]


class Runner:
    """Runs the extension points of the scheduling cycle for one profile."""

    def __init__(
        self,
        plugins: ProfilePlugins,
        *,
        evaluator: Callable[[PluginCaller], Evaluator] = DirectEvaluator,
        objects: ObjectsVersion | None = None,
    ) -> None:
        """Without *objects*, whose generation shows when they change, no result of one pod is used for another."""
        self._plugins = plugins
        self._classes = EquivalenceClasses(objects)
        #: For each equivalence class the last merged verdicts about all nodes: the one without any verdict, from
        #: which `MergedVerdicts.add` leads to the others.
        self._merged_verdicts: dict[EquivalenceClass, MergedVerdicts] = {}
        self._caller = plugins.caller
        self._evaluator = evaluator(plugins.caller)
        self._pre_filters = plugins.on("preFilter")
        self._add_pod = plugins.companions("preFilter", "add_pod")
        self._remove_pod = plugins.companions("preFilter", "remove_pod")
        self._filters = plugins.on("filter")
        self._pre_scores = plugins.on("preScore")
        normalizers = plugins.companions("score", "normalize_score")
        self._scorers = [
            Scorer(method, normalizers.get(method.name), plugins.weights[method.name])
            for method in plugins.on("score")
        ]
        self._reserves = plugins.on("reserve")
        self._unreserve = plugins.companions("reserve", "unreserve")
        self._permits = plugins.on("permit")
        self._waits_with = plugins.companions("permit", "waits_with")
        self._waits_for = plugins.companions("permit", "waits_for")

    def has(self, point: str) -> bool:
        """Whether any plugin is on *point* (`filter`, `score`, …)."""
        return bool(self._plugins.on(point))

    def has_per_node_form(self) -> bool:
        """Whether some Filter or Score plugin looks at nodes one at a time."""
        return any(method.is_per_node for point in ("filter", "score") for method in self._plugins.on(point))

    # --- scheduling cycle: feasibility ------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> PreFilterOutcome:
        start = perf_counter()
        outcome = self._pre_filter(state, pod, nodes)
        self._plugins.point_done("PreFilter", outcome.status, start)
        return outcome

    def _pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> PreFilterOutcome:
        pod_class = state.equivalence_class = self._classes.of(pod)
        plan = pod_class.pre_filter
        new_plan = CallPlan() if pod_class.is_repeated and plan is None else None
        result = _NO_RESTRICTION
        narrowed_by: set[str] = set()
        rejection = SUCCESS
        for step in self._pre_filters if plan is None else plan.steps:
            if isinstance(step, SharedCycleState):
                state.update(step.values)
                state.skip_filter |= step.skips
                continue
            before = frozenset(state.keys()) if new_plan is not None else _NO_PLUGINS
            returned = self._caller.call(step, state, pod, nodes)
            if isinstance(returned, PreFilterResult):
                returned = _with_set(returned)
            if isinstance(returned, PreFilterResult):
                new_plan = None
                if returned.node_names is not None:
                    narrowed_by.add(step.name)
                result = result.merge(returned)
                if result.node_names is not None and not result.node_names:
                    return PreFilterOutcome(_no_node_in_common(narrowed_by), result, frozenset(narrowed_by))
                continue
            status = as_status(step, returned)
            if status.is_skip:
                state.skip_filter.add(step.name)
            elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(status.by(step.name))
            elif status.code is Code.UNSCHEDULABLE:
                rejection, new_plan = status.by(step.name), None
            elif not status.is_success:
                if status.code is not Code.ERROR:
                    status = _no_result("PreFilter", status)
                return PreFilterOutcome(wrapped(f'running PreFilter plugin "{step.name}"', status, step.name))
            if new_plan is not None:
                new_plan.note(step, status, written_since(state, before))
        if new_plan is not None:
            pod_class.pre_filter = new_plan
        return PreFilterOutcome(rejection, result, frozenset(narrowed_by))

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Status:
        """*added* is on *node* now, in a what-if: PreFilter plugins update their state."""
        return self._notify(self._add_pod, "AddPod", state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Status:
        return self._notify(self._remove_pod, "RemovePod", state, pod, removed, node)

    def _notify(
        self,
        extensions: Mapping[str, PluginMethod],
        title: str,
        state: CycleState,
        pod: Pod,
        moved: Pod,
        node: NodeInfo,
    ) -> Status:
        for method in extensions.values():
            if method.name in state.skip_filter:
                continue
            status = as_status(method, self._caller.call(method, state, pod, moved, node))
            if not status.is_success:
                return wrapped(f'running {title} on PreFilter plugin "{method.name}"', status, method.name)
        return SUCCESS

    def filter(
        self, state: CycleState, pod: Pod, nodes: NodeTable, search: SearchPlan | None = None
    ) -> FilterOutcome:
        """Every Filter plugin on every node; the first to reject a node decides.

        With *search*, plugins that look at nodes one at a time are called until enough feasible nodes are found.
        """
        if search is not None and self._has_per_node_filter(state):
            return self._search(state, pod, nodes, search)
        pod_class = state.equivalence_class
        if pod_class is not None and pod_class.is_repeated and nodes.is_whole:
            merged = self._stored_verdicts(pod_class, nodes)
        else:
            merged = MergedVerdicts(nodes)
        if len(nodes):
            result = self._merge_verdicts(merged, state, pod, nodes)
            if isinstance(result, Status):
                return FilterOutcome(nodes, None, [], result, MergedVerdicts(nodes))
            merged = result
        return FilterOutcome(nodes, None, merged.decided, None, merged)

    def _stored_verdicts(self, pod_class: EquivalenceClass, nodes: NodeTable) -> MergedVerdicts:
        """The start of merging, which remembers the results of the last pod of the class."""
        stored = self._merged_verdicts.get(pod_class)
        if stored is None or stored.nodes is not nodes:
            stored = self._merged_verdicts[pod_class] = MergedVerdicts(nodes)
            if len(self._merged_verdicts) > MAX_STORED_VERDICTS:
                del self._merged_verdicts[next(iter(self._merged_verdicts))]
        return stored

    def _merge_verdicts(
        self, merged: MergedVerdicts, state: CycleState, pod: Pod, nodes: NodeTable
    ) -> MergedVerdicts | Status:
        """Add the verdict of each Filter plugin to *merged*; a Status if one failed."""
        skipped, accepting = state.skip_filter, self._evaluator.accepting(state, nodes)
        for method in self._filters:
            if method.name in skipped or method.name in accepting:
                continue
            verdict = (
                self._filter_each_node(method, state, pod, nodes, merged.feasible)
                if method.is_per_node
                else self._evaluator.verdict(method, state, pod, nodes)
            )
            if isinstance(verdict, Verdict) and verdict.accepts_all:
                continue
            result = verdict if isinstance(verdict, Status) else merged.add(method.name, verdict)
            if isinstance(result, Status):
                return _filter_error(method, result)
            merged = result
            if merged.leaves_none:
                break
        return merged

    def _has_per_node_filter(self, state: CycleState) -> bool:
        return any(method.is_per_node and method.name not in state.skip_filter for method in self._filters)

    def _search(self, state: CycleState, pod: Pod, nodes: NodeTable, search: SearchPlan) -> FilterOutcome:
        filters = [method for method in self._filters if method.name not in state.skip_filter]
        node_search = NodeSearch(
            filters,
            nodes,
            lambda method: self._evaluator.verdict(method, state, pod, nodes),
            lambda method: self._caller.node_caller(method, state, pod),
        )
        start = perf_counter()
        outcome = node_search.run(search)
        self._caller.warn_if_slow(
            ", ".join(method.name for method in filters if method.is_per_node), "Filter", perf_counter() - start
        )
        if node_search.failed is not None:
            outcome.error = _filter_error(*node_search.failed)
        return outcome

    def _filter_each_node(
        self, method: PluginMethod, state: CycleState, pod: Pod, nodes: NodeTable, where: BoolArray
    ) -> Verdict | Status:
        statuses: dict[int, Status] = {}
        failure: Status | None = None
        start, call = perf_counter(), self._caller.node_caller(method, state, pod)
        for position in np.flatnonzero(where).tolist():
            returned = call(nodes[position])
            if returned is None or (status := as_status(method, returned)).is_success:
                continue
            if not status.is_rejection:
                failure = status
                break
            statuses[position] = status.by(method.name)
        self._caller.warn_if_slow(method.name, method.point, perf_counter() - start)
        return failure or Verdict(len(nodes), statuses=statuses)

    def filters_by_amounts(self, state: CycleState) -> bool:
        """Whether Filter looks at nothing of a node but the object and the amounts requested on it, so that a
        what-if may change the amounts alone."""
        filters = [method for method in self._filters if method.name not in state.skip_filter]
        if any(method.is_per_node or method.plugin.reads not in _AMOUNTS for method in filters):
            return False
        return state.skip_filter >= self._add_pod.keys() | self._remove_pod.keys()

    def filters_each_alone(self, state: CycleState, pod: Pod) -> bool:
        """Whether the result of Filter for a node, for the pod's whole equivalence class, depends on nothing but
        that node and the pods on it."""
        pod_class = state.equivalence_class
        if pod_class is None:
            return False
        filters = [method for method in self._filters if method.name not in state.skip_filter]
        if any(method.plugin.reads not in _SAME_NODE for method in filters):
            return False
        try:
            return all(pod_class.signature(method, pod) is not None for method in filters)
        except BaseException as error:  # of the plugin's `sign`; reported when the plugin itself is called
            contain(error)
            return False

    def post_filter(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterResult:
        steps = self.post_filter_steps(state, pod, diagnosis)
        while True:
            try:
                steps.send(None)  # there are no extenders to filter the candidates
            except StopIteration as end:
                result: PostFilterResult = end.value
                return result

    def post_filter_steps(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterSteps:
        """The same step by step: yields the candidates of every plugin that found some, and is sent what the
        extenders left of them; None to leave them as they are."""
        start = perf_counter()
        result = yield from self._post_filter(state, pod, diagnosis)
        self._plugins.point_done("PostFilter", result.status, start)
        return result

    def _post_filter(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterSteps:
        nominated: str | None = None
        reasons: list[str] = []
        rejected_by = ""
        for method in self._plugins.on("postFilter"):
            result = self._post_filter_one(method, state, pod, diagnosis)
            report = result.detail
            if result.status.is_success and isinstance(report, PreemptionReport) and report.candidates:
                candidates = yield report
                if candidates is not None:
                    state.write(EXTENDER_CANDIDATES, candidates)
                    result = self._post_filter_one(method, state, pod, diagnosis)
                    state.delete(EXTENDER_CANDIDATES)
            status = result.status
            if status.is_success:
                return result
            if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PostFilterResult(result.nominated_node_name, status.by(method.name))
            if not status.is_rejection:
                if status.error is not None:  # raised: the text says nothing of where
                    status = wrapped(f'running PostFilter plugin "{method.name}"', status, method.name)
                return PostFilterResult(None, status.by(method.name))
            if result.nominated_node_name is not None:
                nominated = result.nominated_node_name
            reasons.extend(status.reasons)
            rejected_by = rejected_by or method.name
        return PostFilterResult(nominated, Status(Code.UNSCHEDULABLE, reasons, plugin=rejected_by))

    def _post_filter_one(
        self, method: PluginMethod, state: CycleState, pod: Pod, diagnosis: Diagnosis
    ) -> PostFilterResult:
        returned: Any = self._caller.call(method, state, pod, diagnosis)
        if not isinstance(returned, PostFilterResult):
            return PostFilterResult(None, as_status(method, returned))
        status: object = cast("Any", returned).status  # may be missing, if a plugin built it in a wrong way
        return returned._replace(status=as_status(method, status))

    # --- scheduling cycle: choice -----------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status:
        start = perf_counter()
        pod_class = state.equivalence_class
        plan = pod_class.pre_score if pod_class is not None else None
        new_plan = CallPlan() if pod_class is not None and pod_class.is_repeated and plan is None else None
        failure = SUCCESS
        for step in self._pre_scores if plan is None else plan.steps:
            if isinstance(step, SharedCycleState):
                state.update(step.values)
                state.skip_score |= step.skips
                continue
            before = frozenset(state.keys()) if new_plan is not None else _NO_PLUGINS
            status = as_status(step, self._caller.call(step, state, pod, nodes))
            if status.is_skip:
                state.skip_score.add(step.name)
            elif not status.is_success:
                failure, new_plan = wrapped(f'running PreScore plugin "{step.name}"', status, step.name), None
                break
            if new_plan is not None:
                new_plan.note(step, status, written_since(state, before))
        if new_plan is not None and pod_class is not None:
            pod_class.pre_score = new_plan
        return self._plugins.point_done("PreScore", failure, start)

    def score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        """Score, normalize and weight; a Status if a plugin failed."""
        return self._score(self._evaluator, state, pod, nodes)

    def score_directly(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        """The same without cached results, in the middle of whatever goes on."""
        return self._score(DirectEvaluator(self._caller), state, pod, nodes)

    def _score(self, evaluator: Evaluator, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        start = perf_counter()
        outcome = evaluator.score(self._scorers, state, pod, nodes)
        self._plugins.point_done("Score", outcome if isinstance(outcome, Status) else SUCCESS, start)
        return outcome

    # --- scheduling cycle: commitment -------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        start = perf_counter()
        result = SUCCESS
        for method in self._reserves:
            status = as_status(method, self._caller.call(method, state, pod, node_name))
            if status.is_success:
                continue
            if status.is_rejection:
                result = status.by(method.name)
            else:
                result = wrapped(f'running Reserve plugin "{method.name}"', status, method.name)
            break
        return self._plugins.point_done("Reserve", result, start)

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        start = perf_counter()
        for method in reversed(self._unreserve.values()):
            self._caller.call(method, state, pod, node_name)
        self._plugins.point_done("Unreserve", SUCCESS, start)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> PermitOutcome:
        start = perf_counter()
        waits: dict[str, float] = {}
        result = SUCCESS
        for method in self._permits:
            status = as_status(method, self._caller.call(method, state, pod, node_name))
            if status.is_success:
                continue
            if status.code is Code.WAIT:
                waits[method.name] = min(status.timeout_seconds, MAX_PERMIT_SECONDS)
                result = status
                continue
            if status.is_rejection:
                result = status.by(method.name)
            else:
                result = wrapped(f'running Permit plugin "{method.name}"', status, method.name)
            waits = {}
            break
        return PermitOutcome(self._plugins.point_done("Permit", result, start), waits)

    def are_waiting_together(self, pod: Pod, other: Pod) -> bool:
        """Whether some Permit plugin lets *other* run only together with *pod* (`Plugin.waits_with`)."""
        return any(self._caller.call_for_node(method, pod, other) is True for method in self._waits_with.values())

    def waits_for(self, pod: Pod) -> list[Pod]:
        """The pods without a node that some Permit plugin would make *pod* wait for (`Plugin.waits_for`)."""
        results = (self._caller.call(method, pod) for method in self._waits_for.values())
        return [other for result in results if not isinstance(result, Status) for other in result or ()]

    # ----------------------------------------------------------------------------------------------

    def take_slow_calls(self) -> list[SlowCall]:
        """The slow calls since this was last called."""
        slow, self._caller.slow_calls = self._caller.slow_calls, []
        return slow


def _with_set(result: PreFilterResult) -> PreFilterResult | Status:
    """The result with a set of names; any collection of names is as good."""
    names: Any = result.node_names
    if names is None or isinstance(names, frozenset):
        return result
    if isinstance(names, str) or not isinstance(names, Iterable):
        got = f"{type(names).__name__}: {names!r:.80}"
        return Status.failed(f"PreFilterResult needs a set of node names, got {got}")
    found = frozenset(names)
    wrong = next((name for name in found if not isinstance(name, str)), None)
    if wrong is not None:
        return Status.failed(f"PreFilterResult needs names of nodes, got {type(wrong).__name__}: {wrong!r:.80}")
    return PreFilterResult(found)


def _no_result(point: str, status: Status) -> Status:
    """ERROR for a status that *point* cannot return."""
    reasons = f": {status.message}" if status.message else ""
    return Status.failed(
        f"returned {status.code.label}, which {point} cannot; return Unschedulable or "
        f"UnschedulableAndUnresolvable to reject the pod, Skip to leave out this plugin's Filter{reasons}"
    )


def _no_node_in_common(narrowed_by: set[str]) -> Status:
    if len(narrowed_by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {next(iter(narrowed_by))}")
    # Written as Go prints a list of strings.
    names = "[" + " ".join(sorted(narrowed_by)) + "]"
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) {names} simultaneously")


def _filter_error(method: PluginMethod, status: Status) -> Status:
    return wrapped(f'running "{method.name}" filter plugin', status, method.name)
