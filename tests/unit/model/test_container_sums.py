"""Sums over the containers of a pod as a dictionary."""

from typing import Any

from bayplan.model.container_sums import sum_over_containers


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


def test_containers_are_summed() -> None:
    assert sum_over_containers({"containers": [container("1"), container("500m")]}, "requests") == {"cpu": "1500m"}


def test_init_containers_set_a_minimum() -> None:
    spec = {"containers": [container("1")], "initContainers": [container("3"), container("2")]}

    assert sum_over_containers(spec, "requests") == {"cpu": "3"}


def test_sidecars_run_next_to_what_follows() -> None:
    """They add to the containers, and to the init containers after them."""
    spec = {
        "containers": [container("1")],
        "initContainers": [container("2"), container("1", restartPolicy="Always"), container("4")],
    }

    assert sum_over_containers(spec, "requests") == {"cpu": "5"}


def test_the_other_key_is_not_summed() -> None:
    assert sum_over_containers({"containers": [container("1")]}, "limits") == {}
