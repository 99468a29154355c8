"""/metrics/resources has the requests and limits of every pod that has not terminated."""

from __future__ import annotations

from typing import Any

from bayplan.model import Pod
from bayplan.observe.pod_resources import PodResources, pod_limits


def pod(name: str, *, status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    return Pod.from_dict(
        {"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": status or {}}
    )


def container(**resources: dict[str, str]) -> dict[str, Any]:
    return {"name": "main", "resources": resources}


WEB = pod(
    "web",
    nodeName="a",
    schedulerName="default-scheduler",
    priority=7,
    overhead={"cpu": "250m", "memory": "1Ki"},
    containers=[
        container(
            requests={"cpu": "500m", "memory": "64Mi", "hugepages-2Mi": "2Mi", "example.com/gpu": "1"},
            limits={"cpu": "1"},
        )
    ],
)


def test_every_resource_has_a_line_with_its_unit() -> None:
    """cpu in cores, memory in bytes; overhead is part of it."""
    lines = PodResources(lambda: [WEB]).text().decode().splitlines()
    where = 'namespace="default",node="a",pod="web",priority="7"'

    def line(metric: str, resource: str, unit: str, value: str) -> str:
        labels = f'{where},resource="{resource}",scheduler="default-scheduler",unit="{unit}"'
        return f"kube_pod_resource_{metric}{{{labels}}} {value}"

    assert line("request", "cpu", "cores", "0.75") in lines
    assert line("request", "memory", "bytes", "6.7109888e+07") in lines
    assert line("request", "hugepages-2Mi", "bytes", "2.097152e+06") in lines
    assert line("request", "example.com/gpu", "", "1.0") in lines
    assert line("limit", "cpu", "cores", "1.25") in lines
    assert "# TYPE kube_pod_resource_limit gauge" in lines


def test_overhead_is_no_limit_by_itself() -> None:
    """It comes on top of limits there are."""
    assert pod_limits(WEB) == {"cpu": 1250}


def test_limits_add_up_as_requests_do() -> None:
    """Init containers count by the largest, sidecars beside the rest."""
    limited = pod(
        "limited",
        containers=[container(limits={"cpu": "1"}), container(limits={"cpu": "1"})],
        initContainers=[
            {**container(limits={"cpu": "500m"}), "name": "side", "restartPolicy": "Always"},
            {**container(limits={"cpu": "4"}), "name": "first"},
        ],
    )

    assert pod_limits(limited) == {"cpu": 4500}


def test_pods_that_are_over_use_nothing() -> None:
    """And what was there at the last scrape is gone with the pod."""
    over = pod("over", status={"phase": "Succeeded"}, nodeName="a", containers=[container(requests={"cpu": "1"})])
    pods = [WEB]
    resources = PodResources(lambda: pods)
    assert b'pod="web"' in resources.text()

    pods[:] = [over]

    assert b"kube_pod_resource" not in resources.text()
