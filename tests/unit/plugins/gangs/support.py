"""A cluster with gangs in virtual time: the whole scheduler, its queue and its binding cycles, no API server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

from bayplan.conformance.replay import Replay
from bayplan.model import Pod, PodGroup
from bayplan.model.times import format_time
from bayplan.scheduler import default_registry
from bayplan.shell.played_cluster import STANDARD_START, Timing
from bayplan.testing import make_node, make_pod

LABEL = "scheduling.x-k8s.io/pod-group"
#: Attempts are slow, so that a minute of gangs in each other's way is not thousands of them.
TIMING = Timing(attempt_seconds=0.05)


def make_group(name: str, min_member: int, *, age: float = 0.0, **spec: Any) -> PodGroup:
    """A PodGroup that is *age* seconds old when the scheduler starts."""
    created = datetime.fromtimestamp(STANDARD_START - age, UTC)
    return PodGroup.from_dict(
        {
            "apiVersion": PodGroup.API_VERSION,
            "kind": PodGroup.KIND,
            "metadata": {"name": name, "namespace": "default", "creationTimestamp": format_time(created)},
            "spec": {"minMember": min_member, **spec},
        }
    )


def make_member(name: str, group: str, *, cpu: str = "1", **fields: Any) -> Pod:
    return make_pod(name, cpu=cpu, labels={LABEL: group}, **fields)


def gang_configuration(plugins: Mapping[str, Any] | None = None, **args: Any) -> dict[str, Any]:
    """The default plugins and Coscheduling with these arguments; *plugins* says more of extension points."""
    queue_sort = {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {
            "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
            "queueSort": queue_sort,
            **(plugins or {}),
        },
        "pluginConfig": [{"name": "Coscheduling", "args": args}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }


MakeGangs: TypeAlias = "Callable[..., Gangs]"


@contextmanager
def closing_gangs() -> Iterator[MakeGangs]:
    """Makes clusters, and ends what goes on in them."""
    made: list[Gangs] = []

    def make(nodes: Mapping[str, int], **options: Any) -> Gangs:
        made.append(Gangs(nodes, **options))
        return made[-1]

    try:
        yield make
    finally:
        for each in made:
            each.close()


class Gangs(Replay):
    """Nodes by name with their cpus; pods and groups come with `add`."""

    def __init__(
        self,
        nodes: Mapping[str, int],
        *,
        timing: Timing = TIMING,
        plugins: Mapping[str, Any] | None = None,
        **args: Any,
    ) -> None:
        line = {
            "config": gang_configuration(plugins, **args),
            "nodes": [dict(make_node(name, cpu=str(cpu)).raw) for name, cpu in nodes.items()],
            "bound": [],
        }
        super().__init__(line, default_registry(), timing=timing)

    def add(self, *objects: Pod | PodGroup) -> None:
        for each in objects:
            self.apply(None, each)

    def replace(self, old: PodGroup, new: PodGroup) -> None:
        self.apply(old, new)

    def delete(self, *objects: Pod | PodGroup) -> None:
        for each in objects:
            self.apply(self.pods.get(each.key, each) if isinstance(each, Pod) else each, None)

    def take_place_of(self, name: str) -> None:
        """Have a pod that Permit holds rejected, as preemption does."""
        assert next(held for held in self.core.waiting_pods if held.pod.name == name).preempt(
            "DefaultPreemption", "preempted"
        )

    @property
    def bound(self) -> dict[str, int]:
        """Group → how many of its pods are on nodes; "" stands for pods of none."""
        return dict(Counter(pod.labels.get(LABEL, "") for pod in self.pods.values() if pod.node_name))

    @property
    def waiting(self) -> list[str]:
        """The names of the pods that Permit holds."""
        return sorted(held.pod.name for held in self.core.waiting_pods)

    def message(self, name: str) -> str:
        """What the pod's condition says last."""
        messages = self.messages[f"default/{name}"]
        return messages[-1] if messages else ""
