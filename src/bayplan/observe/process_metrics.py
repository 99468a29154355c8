"""The metrics that every Kubernetes component has: its build, API requests, feature gates and lease."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from typing import Final

from prometheus_client import ProcessCollector

from bayplan.observe.instruments import Distribution, MetricsRegistry, Number
from bayplan.observe.metrics import ProcessFamilies
from bayplan.release import DEFAULT, Release
from bayplan.version import __version__

#: upstream uses this name for the informers of the scheduler.
INFORMER_NAME: Final = "kube-scheduler"
#: upstream adds an s to the kind, whatever its plural; queries have it this way.
_PLURALS: Final = {
    "csistoragecapacities": "csistoragecapacitys",
    "deviceclasses": "deviceclasss",
    "storageclasses": "storageclasss",
}


class ProcessMetrics:
    """Implements `client.transport.RequestObserver`."""

    def __init__(self, release: Release = DEFAULT) -> None:
        self.families = ProcessFamilies(release)
        self._responses: dict[tuple[str, str, int | None], tuple[Number, Distribution]] = {}
        for name, stage, enabled in release.feature_gates():
            self.families.feature_enabled.labels(name, stage).set(int(enabled))
        major, minor, _ = release.version.split(".")
        system, machine = platform.system().lower(), {"x86_64": "amd64", "aarch64": "arm64"}
        self.families.build_info.labels(
            major,
            minor,
            f"v{release.version}+bayplan.{__version__}",
            *("", "", ""),
            f"python{platform.python_version()}",
            platform.python_implementation().lower(),
            f"{system}/{machine.get(platform.machine(), platform.machine())}",
        ).set(1)

    def join(self, registry: MetricsRegistry) -> None:
        registry.add(*self.families.all())
        registry.register(lambda exposed: ProcessCollector(registry=exposed))

    def answered(self, host: str, method: str, status: int | None, seconds: float) -> None:
        counters = self._responses.get((host, method, status))
        if counters is None:
            code = "<error>" if status is None else str(status)
            counters = self._responses[host, method, status] = (
                self.families.rest_client_requests_total.labels(code, method, host),
                self.families.rest_client_request_duration.labels(method, host),
            )
        counters[0].value += 1
        counters[1].observe(seconds)

    def set_leading(self, lease: str, leading: bool) -> None:
        self.families.leader_election_master_status.labels(lease).set(int(leading))

    def set_events(self, counts: Mapping[str, int]) -> None:
        """*counts*: result → how many events had it."""
        for result, count in counts.items():
            self.families.events_total.labels(result).set(count)

    def set_store_versions(self, versions: Iterable[tuple[str, str]]) -> None:
        """*versions*: the path of each watched resource, and the resourceVersion up to which it is known."""
        for path, version in versions:
            if version.isdecimal():
                gauge = self.families.informer_store_resource_version.labels(INFORMER_NAME, *_resource(path))
                gauge.set(int(version[-15:]))

    def set_depths(self, depths: Mapping[str, int]) -> None:
        for name, depth in depths.items():
            self.families.workqueue_depth.labels(name).set(depth)


def _resource(path: str) -> tuple[str, str, str]:
    """Group, version and name of `/api/v1/pods` or `/apis/apps/v1/namespaces/a/deployments`."""
    _, root, *parts = path.split("/")
    group = parts.pop(0) if root == "apis" else ""
    return group, parts[0], _PLURALS.get(parts[-1], parts[-1])
