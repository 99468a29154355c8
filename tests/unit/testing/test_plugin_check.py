"""`check_plugin` tries the contract out, and `measure` what it costs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bayplan.framework import Plugin, Status
from bayplan.testing import PluginCheckError, check_plugin
from bayplan.testing.cost import Cost, measure, prefers_columns
from bayplan.testing.plugin_check import find_faults, sample_nodes, sample_pods


class Good(Plugin):
    name = "Good"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("node(s) were small") if node.name == "small" else None

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return len(node.name)


class Raises(Plugin):
    """Only for pods with requests."""

    name = "Raises"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        if pod.name == "gpu":
            raise KeyError("gpu")
        return None


class TooHighWhereItFilters(Plugin):
    """No node of the check has its label, so that its Filter alone would hide its Score."""

    name = "TooHighWhereItFilters"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return None if "no-such-label" in node.labels else Status.unschedulable("no")

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 101


class Fickle(Plugin):
    name = "Fickle"
    numbers = itertools.count()

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return next(self.numbers) % 7


class Sorts(Plugin):
    """A profile has one QueueSort plugin, so this one replaces the default."""

    name = "Sorts"

    def sort_key(self, pod_info: Any) -> Any:
        return pod_info.pod.name


class Misspelt(Plugin):
    name = "Misspelt"

    def prefilter(self, state: Any, pod: Any) -> None: ...


class FiltersOnly(Plugin):
    """Where nobody scores, a scheduler looks no further than the first node that fits."""

    name = "FiltersOnly"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None: ...


@pytest.mark.parametrize("plugin", [Good, FiltersOnly, Sorts], ids=lambda plugin: str(plugin.name))
def test_a_good_plugin_passes(plugin: type[Plugin]) -> None:
    check_plugin(plugin)


@pytest.mark.parametrize(
    ("plugin", "fault"),
    [
        pytest.param(Raises, "for the pod gpu: running \"Raises\" filter plugin: 'gpu'", id="raises"),
        pytest.param(TooHighWhereItFilters, "returns an invalid score 101", id="score out of range"),
        pytest.param(Fickle, "two calls on the same cluster gave different results", id="fickle"),
        pytest.param(Misspelt, "did you mean pre_filter?", id="misspelt"),
    ],
)
def test_a_fault_is_told_once(plugin: type[Plugin], fault: str) -> None:
    """However many pods show it."""
    (found,) = find_faults(plugin)
    assert fault in found
    with pytest.raises(PluginCheckError, match=f"the plugin {plugin.name} breaks the contract:\n- ") as raised:
        check_plugin(plugin)
    assert len(raised.value.findings) == 1


def test_samples_have_their_own_names() -> None:
    for samples in (sample_nodes(), sample_pods()):
        names = [sample.name for sample in samples]
        assert len(set(names)) == len(names)


# --- cost -----------------------------------------------------------------------------------------


def test_a_cost_is_the_difference() -> None:
    cost = Cost(1000, with_plugin=0.004, without=0.001)
    assert cost.own == pytest.approx(0.003)
    assert cost.per_node == pytest.approx(3e-6)
    assert cost.decisions_per_second == pytest.approx(250)
    assert cost.share_left == pytest.approx(0.25)


def test_noise_costs_nothing() -> None:
    """A plugin that came out faster than without it costs nothing, not less."""
    assert Cost(10, with_plugin=0.001, without=0.002).own == 0.0


def test_every_size_is_measured() -> None:
    costs = measure(Good, sizes=(2, 5))
    assert [cost.n_nodes for cost in costs] == [2, 5]
    assert all(cost.with_plugin > 0 and cost.without > 0 for cost in costs)


def test_columns_are_for_those_who_ask_one_by_one() -> None:
    assert prefers_columns(Good)
    assert not prefers_columns(Sorts)


class Deadline(Plugin):
    """By a label that is a number, as its author thinks of it."""

    name = "Deadline"

    def sort_key(self, pod_info: Any) -> Any:
        return pod_info.pod.labels.get("deadline")


class GuardedDeadline(Plugin):
    """The same for any pod."""

    name = "GuardedDeadline"

    def sort_key(self, pod_info: Any) -> tuple[bool, str, float]:
        deadline = pod_info.pod.labels.get("deadline")
        return deadline is None, deadline or "", pod_info.timestamp


class Unready(Plugin):
    name = "Unready"

    def less(self, first: Any, second: Any) -> bool:
        return int(first.pod.annotations["order"]) < int(second.pod.annotations["order"])


def test_an_order_that_cannot_be_computed_is_found() -> None:
    """Pods with the label and without it meet in one queue."""
    (fault,) = find_faults(Deadline)
    assert fault.startswith("sort_key gives keys that cannot be compared, for the pods default/plain (None) and ")
    (fault,) = find_faults(Unready)
    assert fault.startswith("less raised for the pods plain and requests: KeyError: 'order'")
    assert list(find_faults(GuardedDeadline)) == []


def test_keys_without_an_order_are_found() -> None:
    """NaN is neither smaller than other numbers nor equal to one."""

    class ByNumber(Plugin):
        name = "ByNumber"

        def sort_key(self, pod_info: Any) -> tuple[int, float]:
            try:
                return 0, float(pod_info.pod.labels.get("deadline", "nan"))
            except ValueError:
                return 1, 0.0

    (fault,) = find_faults(ByNumber)
    assert fault.startswith("sort_key gives keys without an order, neither smaller nor equal, for the pods ")


def test_the_values_of_a_label_have_any_form() -> None:
    """A label is written by users: a number for one is a word for another."""

    class Numbered(Plugin):
        name = "Numbered"

        def sort_key(self, pod_info: Any) -> int:
            return int(pod_info.pod.labels.get("deadline", 0))

    (fault,) = find_faults(Numbered)
    assert fault.startswith("sort_key raised for the pod with deadline='2.5' in its labels: ValueError")


def test_an_attempt_to_write_is_found() -> None:
    """Even if it is the same for all nodes: the cache would have changed."""

    class Labelling(Plugin):
        name = "Labelling"

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            node.labels["seen"] = "true"

    (fault,) = find_faults(Labelling)
    assert 'running "Labelling" filter plugin: this dict is read-only' in fault
    assert "handle.client" in fault


def test_background_work_and_close_are_checked() -> None:
    """For a minute of the harness's time."""

    class Polling(Plugin):
        name = "Polling"

        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            handle.spawn(self._poll())

        async def _poll(self) -> None:
            await self.handle.clock.sleep(45)
            raise ValueError("no prices")

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            return None

        async def close(self) -> None:
            raise KeyError("session")

    faults = list(find_faults(Polling))
    assert len(faults) == 2
    assert faults[0].startswith("its _poll: ValueError: no prices; work of handle.spawn should handle its errors")
    assert faults[1].startswith("its close: KeyError: 'session'")


def test_a_wrong_kind_is_found() -> None:
    class Watching(Plugin):
        name = "Watching"

        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            handle.informers.on_change("configmaps", print)

        def filter(self, state: Any, pod: Any, node: Any) -> None:
            return None

    (fault,) = find_faults(Watching)
    assert "'configmaps' is no kind of object: give a kind of bayplan.model" in fault
