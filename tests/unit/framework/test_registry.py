"""Plugins come from Bayplan, from installed packages, and from files and modules named by a reference."""

from __future__ import annotations

import importlib.metadata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bayplan.config import ConfigError, load
from bayplan.framework import Plugin, PluginError, Registry
from bayplan.release import release_named
from bayplan.scheduler import default_registry

SAMPLE = """\
from bayplan import Args, Plugin, Status


class CpuNodes(Plugin):
    name = "sample"

    class Args(Args):
        label: str = "cpu"

    def filter(self, state, pod, node):
        if node.labels.get(self.args.label) != "true":
            return Status.unschedulable(f"Node: {node.name}")
"""

CONFIG = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: sample-scheduler
  plugins:
    filter:
      enabled:
      - name: {name}
  pluginConfig:
  - name: sample
    args:
      {args}
"""


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "rules.py"
    path.write_text(SAMPLE)
    return path


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "broken.py"
    path.write_text(text)
    return str(path)


def test_file_reference_is_loaded_once(sample: Path) -> None:
    """The same reference gives the same class, under the name the class has."""
    registry = default_registry([f"{sample}:CpuNodes"])
    again = registry.add_reference(f"{sample}:CpuNodes")
    assert registry.get("sample") is again
    assert (again.points, again.source) == (("filter",), str(sample))


def test_module_reference_is_loaded() -> None:
    """module:Class imports the module."""
    registry = Registry()
    registration = registry.add_reference("bayplan.plugins.preemption.default_preemption:DefaultPreemption")
    assert registration.points == ("preEnqueue", "postFilter")


def test_reference_in_a_configuration(sample: Path) -> None:
    """A plugin may be enabled by reference; it goes by its own name from then on."""
    registry = default_registry()
    text = CONFIG.format(name=f'"{sample}:CpuNodes"', args="label: gpu")
    loaded = load(text, source="scheduler.yaml", catalogue=registry)
    assert [plugin.name for plugin in loaded.profiles[0].points["filter"]][-1] == "sample"
    assert loaded.profiles[0].args["sample"].label == "gpu"


def test_unknown_args_field_is_refused(sample: Path) -> None:
    """An args field that does not exist is an error with file, line, path and the nearest field."""
    registry = default_registry([f"{sample}:CpuNodes"])
    with pytest.raises(ConfigError) as refused:
        load(CONFIG.format(name="sample", args="labels: gpu"), source="scheduler.yaml", catalogue=registry)
    assert str(refused.value) == (
        'scheduler.yaml:12: profiles[0].pluginConfig[0].args.labels: unknown field; did you mean "label"?'
    )


def test_name_that_is_taken_is_refused(sample: Path) -> None:
    """Two plugins cannot have one name; the message says who has it."""

    class Mine(Plugin):
        name = "NodeName"

        def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    with pytest.raises(PluginError) as refused:
        default_registry().add(Mine, source="mine.py")
    assert str(refused.value) == "mine.py: a plugin called NodeName is there already (built in); rename yours"


def test_unknown_name_gets_a_suggestion() -> None:
    """The nearest known names are offered."""
    with pytest.raises(PluginError, match="there is no plugin called 'NodeNam'; did you mean NodeName"):
        default_registry().get("NodeNam")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "does not load: SyntaxError"),
        ("x = 1\nx.missing\n", "does not load: line 2: AttributeError: 'int' object has no attribute 'missing'"),
        ("class Other: ...\n", "has no class CpuNodes; it has no plugin class"),
        (SAMPLE.replace("CpuNodes", "GpuNodes"), "has no class CpuNodes; its plugins are: GpuNodes"),
        (SAMPLE.replace("def filter", "def prefilter"), "method prefilter is no extension point"),
    ],
    ids=["syntax error", "error at import", "no plugin", "another class", "misspelt method"],
)
def test_file_that_does_not_load(tmp_path: Path, text: str, message: str) -> None:
    """What is wrong with a file is said with the file's name and the line."""
    path = write(tmp_path, text)
    with pytest.raises(PluginError) as refused:
        Registry().add_reference(f"{path}:CpuNodes")
    assert str(refused.value).startswith(path)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("nowhere.py:X", "nowhere.py: no such file"),
        ("no.such.module:X", "no.such.module does not load: .*ModuleNotFoundError"),
        ("CpuNodes", "'CpuNodes' names no plugin; write path/to/file.py:ClassName or module:ClassName"),
    ],
)
def test_reference_that_leads_nowhere(reference: str, message: str) -> None:
    """A wrong reference says what is missing."""
    with pytest.raises(PluginError, match=message):
        Registry().add_reference(reference)


def test_broken_reference_is_a_problem_of_the_configuration(tmp_path: Path) -> None:
    """In a configuration a plugin that does not load is reported at its line, not raised as a traceback."""
    path = write(tmp_path, "import nowhere_at_all\n")
    with pytest.raises(ConfigError) as refused:
        load(
            CONFIG.format(name=f'"{path}:X"', args="label: gpu"),
            source="scheduler.yaml",
            catalogue=default_registry(),
        )
    assert "No module named 'nowhere_at_all'" in str(refused.value)
    assert "scheduler.yaml:8" in str(refused.value)


def test_entry_points_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plugin of an installed package is known by its entry point, and imported when it is asked for."""
    entry = importlib.metadata.EntryPoint(
        "DefaultPreemption", "bayplan.plugins.preemption.default_preemption:DefaultPreemption", "bayplan.plugins"
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [entry])
    registry = Registry()
    registry.add_entry_points()
    assert registry.names() == ["DefaultPreemption"]
    assert registry.get("DefaultPreemption").source == "package bayplan"


def test_entry_point_under_another_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name in the package's metadata and the class's own name must agree."""
    entry = importlib.metadata.EntryPoint(
        "Mine", "bayplan.plugins.preemption.default_preemption:DefaultPreemption", "bayplan.plugins"
    )
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [entry])
    registry = Registry()
    registry.add_entry_points()
    with pytest.raises(PluginError, match="is called DefaultPreemption, but registered as Mine"):
        registry.get("Mine")


def test_stock_registry_has_kube_schedulers_plugins_alone() -> None:
    """The scheduler-plugins family and plugins of others are left out; what kube-scheduler has is there."""
    registry = default_registry()
    registry.add(type("Mine", (Plugin,), {"name": "Mine", "pre_enqueue": lambda self, pod: None}))
    stock = registry.stock()

    assert {"Coscheduling", "Mine"} <= set(registry.names())
    assert not {"Coscheduling", "Mine"} & set(stock.names())
    assert stock.default_plugins == registry.default_plugins
    assert stock.lookup("GangScheduling") is not None


def test_registry_follows_another_release() -> None:
    """The default plugins are those of the release; plugins of others stay."""
    registry = default_registry(release=release_named("1.36"))
    registry.add(type("Mine", (Plugin,), {"name": "Mine", "pre_enqueue": lambda self, pod: None}))
    registry.get("NodeName")
    newer = registry.following(release_named("1.37"))

    assert [name for name, _ in registry.default_plugins][2:4] == ["NodeUnschedulable", "NodeName"]
    assert [name for name, _ in newer.default_plugins][2:4] == ["NodeName", "NodeUnschedulable"]
    assert newer.get("Mine") is registry.get("Mine")


def test_point_of_another_release_is_left_out() -> None:
    """A built-in plugin is on the extension points that it has in the release that is followed."""
    release = replace(release_named("1.36"), omitted_points={"NodeAffinity": frozenset({"preFilter"})})
    registry = default_registry(release=release)

    assert "preFilter" not in registry.get("NodeAffinity").points
    assert "filter" in registry.get("NodeAffinity").points


def test_point_in_name_only_is_known_to_configurations() -> None:
    """A configuration may list a built-in plugin where it does nothing; the plugin is not called there."""
    registry = default_registry(release=release_named("1.37"))
    facts = registry.lookup("DefaultPreemption")

    assert facts is not None
    assert "podGroupPostFilter" in facts.points
    assert "podGroupPostFilter" not in registry.get("DefaultPreemption").points
