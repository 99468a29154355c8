"""CoschedulingArgs, and a configuration from the days of v1beta2."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.config import ConfigError, Loaded, load
from bayplan.config.args import CoschedulingArgs
from bayplan.scheduler import default_registry

#: As guides to custom schedulers show it.
OLD = """\
apiVersion: kubescheduler.config.k8s.io/v1beta2
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: "REPLACE_ME_WITH_KUBE_CONFIG_PATH"
profiles:
- schedulerName: default-scheduler
  plugins:
    queueSort:
      enabled:
      - name: Coscheduling
      disabled:
      - name: "*"
    preFilter:
      enabled:
      - name: Coscheduling
    postFilter:
      enabled:
      - name: Coscheduling
    permit:
      enabled:
      - name: Coscheduling
    reserve:
      enabled:
      - name: Coscheduling
    postBind:
      enabled:
      - name: Coscheduling
  pluginConfig:
  - name: Coscheduling
    args:
      permitWaitingTimeSeconds: 10
      deniedPGExpirationTimeSeconds: 3
"""


def load_args(**args: Any) -> Loaded:
    lines = "".join(f"\n      {name}: {value}" for name, value in args.items())
    text = f"""\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: Coscheduling
    args: {lines or "{}"}
"""
    return load(text, source="scheduler.yaml", catalogue=default_registry())


def test_old_configuration_loads() -> None:
    """It runs Coscheduling on the points there are, and says which lines do nothing any more."""
    loaded = load(OLD, source="scheduler.yaml", catalogue=default_registry())
    points = loaded.profiles[0].points
    on = [point for point, plugins in points.items() if any(each.name == "Coscheduling" for each in plugins)]
    assert on == ["queueSort", "preFilter", "postFilter", "reserve", "permit"]
    assert loaded.profiles[0].args["Coscheduling"] == CoschedulingArgs(permit_waiting_time_seconds=10)

    said = {warning.path: (warning.line, warning.message) for warning in loaded.warnings}
    assert said["profiles[0].pluginConfig[0].args.deniedPGExpirationTimeSeconds"] == (
        34,
        "Coscheduling no longer has this argument; it is ignored",
    )
    assert said["profiles[0].plugins.postBind.enabled[0]"] == (
        29,
        'the plugin "Coscheduling" is no longer a postBind plugin; this entry does nothing',
    )


def test_effective_configuration_has_what_is_left() -> None:
    """An argument that is gone is not written back."""
    effective = load(OLD, source="scheduler.yaml", catalogue=default_registry()).effective()
    args = {each["name"]: each["args"] for each in effective["profiles"][0]["pluginConfig"]}

    assert args["Coscheduling"] == {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "CoschedulingArgs",
        "permitWaitingTimeSeconds": 10,
        "podGroupBackoffSeconds": 0,
        "podGroupRejectPercentage": 10,
    }


def test_defaults_are_those_of_the_scheduler_plugins() -> None:
    """60 seconds of waiting, no backoff, 10 per cent."""
    args = load_args().config.profiles[0].plugin_config[0].args

    assert args == CoschedulingArgs(
        permit_waiting_time_seconds=60, pod_group_backoff_seconds=0, pod_group_reject_percentage=10
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("permitWaitingTimeSeconds", -1),
        ("podGroupBackoffSeconds", -1),
        ("podGroupRejectPercentage", -1),
        ("podGroupRejectPercentage", 101),
    ],
)
def test_value_out_of_range_is_refused(field: str, value: int) -> None:
    """The message names the field."""
    with pytest.raises(ConfigError) as refused:
        load_args(**{field: value})

    assert [problem.path for problem in refused.value.problems] == [f"profiles[0].pluginConfig[0].args.{field}"]


def test_unknown_argument_is_refused() -> None:
    """Only what was an argument once is passed over."""
    with pytest.raises(ConfigError, match="podGroupBackofSeconds"):
        load_args(podGroupBackofSeconds=1)


def test_point_it_never_was_on_is_refused() -> None:
    """A mistake stays a mistake."""
    with pytest.raises(ConfigError, match="is not a score plugin"):
        load(OLD.replace("postBind:", "score:"), source="scheduler.yaml", catalogue=default_registry())
