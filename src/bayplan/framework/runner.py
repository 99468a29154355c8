"""The runner of the scheduling cycle: the plugins of one profile, asked in order at every extension point.

Comes in: the profile's plugins, as the configuration placed them. Goes out: statuses and outcomes.
How one method is called is in `calls`; what follows from the answers is here, and nothing else: the runner
knows neither the queue nor the cache. Its sibling for the binding cycle is in `binding`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Hashable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

import numpy as np

from bayplan.framework.answers import Answers, AskAlways, Scorer
from bayplan.framework.calls import Bound, Caller, SlowCall, as_status, wrapped
from bayplan.framework.candidates import CONSULTED, Considered, Consulted
from bayplan.framework.combining import Combining, Remembered
from bayplan.framework.diagnosis import Diagnosis
from bayplan.framework.nodes import NodeInfo, NodeTable
from bayplan.framework.outcomes import Combined, FilterOutcome, ScoreOutcome
from bayplan.framework.plugin import Plugin, PostFilterResult, PreFilterResult, Reads
from bayplan.framework.profile import ProfilePlugins
from bayplan.framework.searching import Search, Searching
from bayplan.framework.state import CycleState
from bayplan.framework.status import SUCCESS, Code, Status
from bayplan.framework.templates import Alike, Steps, Template, Templates, written_since
from bayplan.framework.verdict import BoolArray, Verdict

if TYPE_CHECKING:
    from bayplan.model import Pod

#: upstream maxTimeout: Permit never holds a pod longer.
MAX_PERMIT_SECONDS: Final = 15 * 60

#: What Filter came to is remembered for so many kinds of pods: the masks take room.
MAX_FILTERED: Final = 256

#: What a Filter plugin may read whose answer follows from the node objects and the amounts requested.
_AMOUNTS: Final = (Reads.NODE, Reads.ALL_NODES, Reads.RESOURCES)
#: What one may read whose answer about a node follows from that node and the pods on it.
_ALONE: Final = (Reads.NODE, Reads.RESOURCES, Reads.USAGE)


#: Candidates go out, what extenders left of them comes in, a result is returned.
PostFilterSteps: TypeAlias = Generator[Considered, Consulted | None, PostFilterResult]


class PreFilterOutcome(NamedTuple):
    status: Status
    result: PreFilterResult
    #: Plugins that narrowed the nodes.
    narrowed_by: frozenset[str]


class PermitOutcome(NamedTuple):
    status: Status
    #: Plugin → seconds, when the status is WAIT.
    waits: Mapping[str, float]


class Runner:
    """Runs the extension points of the queue and of the scheduling cycle for one profile."""

    def __init__(
        self,
        plugins: ProfilePlugins,
        *,
        answers: Callable[[Caller], Answers] = AskAlways,
        epoch: Callable[[], int] | None = None,
    ) -> None:
        self._plugins = plugins
        #: Without somebody who tells when objects change, nothing may be remembered.
        self._templates = Templates(epoch if epoch is not None else itertools.count().__next__)
        #: What Filter came to for the latest pod of a template that was tried on all nodes.
        self._filtered: dict[Template, Remembered] = {}
        self._caller = plugins.caller
        self._answers = answers(plugins.caller)
        self._add_pod = plugins.companions("preFilter", "add_pod")
        self._remove_pod = plugins.companions("preFilter", "remove_pod")
        normalizers = plugins.companions("score", "normalize_score")
        self._scorers = [
            Scorer(bound, normalizers.get(bound.name), plugins.weights[bound.name])
            for bound in plugins.on("score")
        ]
        self._unreserve = plugins.companions("reserve", "unreserve")
        self._waits_with = plugins.companions("permit", "waits_with")
        self._waits_for = plugins.companions("permit", "waits_for")

    def has(self, point: str) -> bool:
        """Whether any plugin is on *point* (`filter`, `score`, …)."""
        return bool(self._plugins.on(point))

    def has_per_node_form(self) -> bool:
        """Whether some Filter or Score plugin looks at nodes one at a time."""
        return any(bound.is_per_node for point in ("filter", "score") for bound in self._plugins.on(point))

    # --- queue ------------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Pod) -> Status:
        with self._plugins.timed("PreEnqueue") as done:
            return done(self._plugins.first_refusal("preEnqueue", pod))

    @property
    def queue_sort(self) -> Plugin:
        return self._plugins.on("queueSort")[0].plugin

    # --- scheduling cycle: feasibility ------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> PreFilterOutcome:
        start = perf_counter()
        outcome = self._pre_filter(state, pod, nodes)
        self._plugins.point_done("PreFilter", outcome.status, start)
        return outcome

    def _pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> PreFilterOutcome:
        template = state.template = self._templates.of(pod)
        result = PreFilterResult()
        narrowed_by: set[str] = set()
        refusal = SUCCESS
        learned = Steps() if template.is_common and template.pre_filter is None else None
        for step in self._plugins.on("preFilter") if template.pre_filter is None else template.pre_filter.steps:
            if isinstance(step, Alike):
                state.update(step.values)
                state.skip_filter |= step.skips
                continue
            before = frozenset(state.keys()) if learned is not None else frozenset()
            answer = self._caller.call(step, state, pod, nodes)
            if isinstance(answer, PreFilterResult):
                learned = None
                if answer.node_names is not None:
                    narrowed_by.add(step.name)
                result = result.merge(answer)
                if result.node_names is not None and not result.node_names:
                    return PreFilterOutcome(_no_node_in_common(narrowed_by), result, frozenset(narrowed_by))
                continue
            status = as_status(step, answer)
            if status.is_skip:
                state.skip_filter.add(step.name)
            elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(status.by(step.name), PreFilterResult(), frozenset())
            elif status.code is Code.UNSCHEDULABLE:
                refusal, learned = status.by(step.name), None
            elif not status.is_success:
                failed = wrapped(f'running PreFilter plugin "{step.name}"', status, step.name)
                return PreFilterOutcome(failed, PreFilterResult(), frozenset())
            if learned is not None:
                learned.note(step, status, written_since(state, before))
        if learned is not None:
            template.pre_filter = learned
        return PreFilterOutcome(refusal, result, frozenset(narrowed_by))

    def add_pod(self, state: CycleState, pod: Pod, added: Pod, node: NodeInfo) -> Status:
        """*added* is on *node* now, in a what-if: PreFilter plugins adjust their state."""
        return self._tell(self._add_pod, "AddPod", state, pod, added, node)

    def remove_pod(self, state: CycleState, pod: Pod, removed: Pod, node: NodeInfo) -> Status:
        return self._tell(self._remove_pod, "RemovePod", state, pod, removed, node)

    def _tell(
        self,
        extensions: Mapping[str, Bound],
        title: str,
        state: CycleState,
        pod: Pod,
        moved: Pod,
        node: NodeInfo,
    ) -> Status:
        for bound in extensions.values():
            if bound.name in state.skip_filter:
                continue
            status = as_status(bound, self._caller.call(bound, state, pod, moved, node))
            if not status.is_success:
                return wrapped(f'running {title} on PreFilter plugin "{bound.name}"', status, bound.name)
        return SUCCESS

    def filter(self, state: CycleState, pod: Pod, nodes: NodeTable, search: Search | None = None) -> FilterOutcome:
        """Every Filter plugin on every node; the first to reject a node decides.

        With *search*, plugins that look at nodes one at a time are asked until enough feasible nodes are found.
        """
        if search is not None and self._is_costly(state):
            return self._search(state, pod, nodes, search)
        template = state.template
        if template is not None and not (template.is_common and nodes.is_whole):
            template = None
        combining = Combining(nodes, self._filtered.get(template) if template is not None else None)
        if len(nodes):
            error = self._combine(combining, state, pod, nodes)
            if error is not None:
                return FilterOutcome.of(Combined(nodes), error)
        filtered = combining.finish()
        if template is not None:
            self._filtered[template] = filtered
            if len(self._filtered) > MAX_FILTERED:
                del self._filtered[next(iter(self._filtered))]
        return FilterOutcome.of(filtered.combined)

    def _combine(self, combining: Combining, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        """Asks plugin after plugin; gives the error that ended it."""
        skipped, accepting = state.skip_filter, self._answers.accepting(state, nodes)
        for bound in self._plugins.on("filter"):
            if bound.name in skipped or bound.name in accepting:
                continue
            verdict = (
                self._filter_one_by_one(bound, state, pod, nodes, combining.feasible)
                if bound.is_per_node
                else self._answers.verdict(bound, state, pod, nodes)
            )
            if isinstance(verdict, Verdict) and verdict.accepts_all:
                continue
            failure = verdict if isinstance(verdict, Status) else combining.add(bound, verdict)
            if failure is not None:
                return _filter_error(bound, failure)
            if combining.leaves_none:
                break
        return None

    def _is_costly(self, state: CycleState) -> bool:
        return any(
            bound.is_per_node and bound.name not in state.skip_filter for bound in self._plugins.on("filter")
        )

    def _search(self, state: CycleState, pod: Pod, nodes: NodeTable, search: Search) -> FilterOutcome:
        filters = [bound for bound in self._plugins.on("filter") if bound.name not in state.skip_filter]
        searching = Searching(
            filters,
            nodes,
            lambda bound: self._answers.verdict(bound, state, pod, nodes),
            lambda bound: self._caller.asker(bound, state, pod),
        )
        start = perf_counter()
        outcome = searching.run(search)
        self._caller.note_time(
            ", ".join(bound.name for bound in filters if bound.is_per_node), "Filter", perf_counter() - start
        )
        if searching.failed is not None:
            outcome.error = _filter_error(*searching.failed)
        return outcome

    def _filter_one_by_one(
        self, bound: Bound, state: CycleState, pod: Pod, nodes: NodeTable, where: BoolArray
    ) -> Verdict | Status:
        statuses: dict[int, Status] = {}
        failure: Status | None = None
        start, ask = perf_counter(), self._caller.asker(bound, state, pod)
        for position in np.flatnonzero(where).tolist():
            answer = ask(nodes[position])
            if answer is None or (status := as_status(bound, answer)).is_success:
                continue
            if not status.is_rejection:
                failure = status
                break
            statuses[position] = status.by(bound.name)
        self._caller.note_time(bound.name, bound.point, perf_counter() - start)
        return failure or Verdict(len(nodes), statuses=statuses)

    def filters_by_amounts(self, state: CycleState) -> bool:
        """Whether Filter looks at nothing of a node but the object and the amounts requested on it, so that a
        what-if may change the amounts alone."""
        asked = [bound for bound in self._plugins.on("filter") if bound.name not in state.skip_filter]
        if any(bound.is_per_node or bound.plugin.reads not in _AMOUNTS for bound in asked):
            return False
        return state.skip_filter >= self._add_pod.keys() | self._remove_pod.keys()

    def filters_each_alone(self, state: CycleState, pod: Pod) -> bool:
        """Whether what Filter says of a node, for *pod* and pods like it, follows from that node and its pods."""
        template = state.template
        if template is None:
            return False
        asked = [bound for bound in self._plugins.on("filter") if bound.name not in state.skip_filter]
        if any(bound.plugin.reads not in _ALONE for bound in asked):
            return False
        try:
            return all(template.sign(bound, pod) is not None for bound in asked)
        except Exception:  # the plugin's own; it is told when it is asked for answers
            return False

    def post_filter(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterResult:
        steps = self.post_filter_steps(state, pod, diagnosis)
        while True:
            try:
                steps.send(None)  # nobody is asked about candidates
            except StopIteration as end:
                result: PostFilterResult = end.value
                return result

    def post_filter_steps(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterSteps:
        """The same step by step: stops at every plugin that found candidates for preemption, and takes what the
        extenders left of them; None to leave them as they are."""
        with self._plugins.timed("PostFilter") as done:
            result = yield from self._post_filter(state, pod, diagnosis)
            done(result.status)
            return result

    def _post_filter(self, state: CycleState, pod: Pod, diagnosis: Diagnosis) -> PostFilterSteps:
        nominated: str | None = None
        reasons: list[str] = []
        rejected_by = ""
        for bound in self._plugins.on("postFilter"):
            result = self._post_filter_one(bound, state, pod, diagnosis)
            if result.status.is_success and isinstance(result.detail, Considered) and result.detail.candidates:
                consulted = yield result.detail
                if consulted is not None:
                    state.write(CONSULTED, consulted)
                    result = self._post_filter_one(bound, state, pod, diagnosis)
                    state.delete(CONSULTED)
            status = result.status
            if status.is_success:
                return result
            if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PostFilterResult(result.nominated_node_name, status.by(bound.name))
            if not status.is_rejection:
                return PostFilterResult(None, status.by(bound.name))
            if result.nominated_node_name is not None:
                nominated = result.nominated_node_name
            reasons.extend(status.reasons)
            rejected_by = rejected_by or bound.name
        return PostFilterResult(nominated, Status(Code.UNSCHEDULABLE, reasons, plugin=rejected_by))

    def _post_filter_one(
        self, bound: Bound, state: CycleState, pod: Pod, diagnosis: Diagnosis
    ) -> PostFilterResult:
        answer: Any = self._caller.call(bound, state, pod, diagnosis)
        if not isinstance(answer, PostFilterResult):
            return PostFilterResult(None, as_status(bound, answer))
        status: object = cast("Any", answer).status  # a plugin may have left it out
        return answer._replace(status=as_status(bound, status))

    # --- scheduling cycle: choice -----------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status:
        start = perf_counter()
        status = self._pre_score(state, pod, nodes)
        self._plugins.point_done("PreScore", status, start)
        return status

    def _pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status:
        template = state.template
        known = template.pre_score if template is not None else None
        learned = Steps() if template is not None and template.is_common and known is None else None
        for step in self._plugins.on("preScore") if known is None else known.steps:
            if isinstance(step, Alike):
                state.update(step.values)
                state.skip_score |= step.skips
                continue
            before = frozenset(state.keys()) if learned is not None else frozenset()
            status = as_status(step, self._caller.call(step, state, pod, nodes))
            if status.is_skip:
                state.skip_score.add(step.name)
            elif not status.is_success:
                return wrapped(f'running PreScore plugin "{step.name}"', status, step.name)
            if learned is not None:
                learned.note(step, status, written_since(state, before))
        if learned is not None and template is not None:
            template.pre_score = learned
        return SUCCESS

    def score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreOutcome | Status:
        """Score, normalise and weigh; a Status when a plugin failed."""
        start = perf_counter()
        outcome = self._answers.score(self._scorers, state, pod, nodes)
        self._plugins.point_done("Score", outcome if isinstance(outcome, Status) else SUCCESS, start)
        return outcome

    # --- scheduling cycle: commitment -------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        with self._plugins.timed("Reserve") as done:
            return done(self._plugins.first_refusal("reserve", state, pod, node_name))

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        with self._plugins.timed("Unreserve") as done:
            for bound in reversed(self._unreserve.values()):
                self._caller.call(bound, state, pod, node_name)
            done(SUCCESS)

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> PermitOutcome:
        with self._plugins.timed("Permit") as done:
            waits: dict[str, float] = {}
            waiting: Status | None = None
            for bound in self._plugins.on("permit"):
                status = as_status(bound, self._caller.call(bound, state, pod, node_name))
                if status.is_rejection:
                    return PermitOutcome(done(status.by(bound.name)), {})
                if status.code is Code.WAIT:
                    waits[bound.name] = min(status.timeout_seconds, MAX_PERMIT_SECONDS)
                    waiting = status
                elif not status.is_success:
                    failed = wrapped(f'running Permit plugin "{bound.name}"', status, bound.name)
                    return PermitOutcome(done(failed), {})
            return PermitOutcome(done(waiting or SUCCESS), waits)

    def are_waiting_together(self, pod: Pod, other: Pod) -> bool:
        """Whether some Permit plugin gives them places together only."""
        return any(self._caller.call_often(bound, pod, other) is True for bound in self._waits_with.values())

    def waits_for(self, pod: Pod) -> list[Pod]:
        """The pods without a place that some Permit plugin would make *pod* wait for."""
        answers = (self._caller.call(bound, pod) for bound in self._waits_for.values())
        return [other for answer in answers if not isinstance(answer, Status) for other in answer or ()]

    # --- besides ----------------------------------------------------------------------------------

    def take_slow_calls(self) -> list[SlowCall]:
        """The plugins that were slow since this was last asked."""
        slow, self._caller.slow_calls = self._caller.slow_calls, []
        return slow

    def sign(self, pod: Pod) -> Hashable | None:
        """What of the pod the profile's Filter and Score plugins look at; None if one of them does not say."""
        fragments: list[Hashable] = [pod.spec.scheduler_name]
        for name, plugin in self._plugins.plugins.items():
            if not (hasattr(plugin, "sign") or self._is_evaluating(name)):
                continue
            fragment = plugin.sign(pod) if hasattr(plugin, "sign") else None
            if fragment is None:
                return None
            fragments.append((name, fragment))
        return tuple(fragments)

    def _is_evaluating(self, plugin_name: str) -> bool:
        return any(
            bound.name == plugin_name
            for point in ("preFilter", "filter", "preScore", "score")
            for bound in self._plugins.on(point)
        )


def _no_node_in_common(narrowed_by: set[str]) -> Status:
    if len(narrowed_by) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {next(iter(narrowed_by))}")
    # Written as Go prints a list of strings.
    names = "[" + " ".join(sorted(narrowed_by)) + "]"
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) {names} simultaneously")


def _filter_error(bound: Bound, status: Status) -> Status:
    return wrapped(f'running "{bound.name}" filter plugin', status, bound.name)
