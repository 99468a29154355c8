"""Plugins of installed packages: an explicit one replaces its entry point, another of the same name clashes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from bayplan.cli import main
from bayplan.framework import Plugin, PluginError
from bayplan.scheduler import default_registry
from bayplan.testing import Harness, check_plugin, make_node, make_pod

PLUGIN = """\
from bayplan import Plugin, Status


class GpuNodes(Plugin):
    name = "GpuNodes"

    def filter(self, state, pod, node):
        if "gpu" not in node.labels:
            return Status.unresolvable("node(s) had no GPU")
"""

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: GpuNodes}]}}
"""

Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package as `pip install --editable` does: its metadata in one folder, its source in another."""
    before = set(sys.modules)

    def install(package: str, text: str = PLUGIN, entry: str = "plugin:GpuNodes", init: str = "") -> Path:
        metadata = tmp_path / "site" / f"{package}-1.2.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        point = f"{package}.{entry}" if not entry.startswith(":") else f"{package}{entry}"
        (metadata / "entry_points.txt").write_text(f"[bayplan.plugins]\nGpuNodes = {point}\n")
        source = tmp_path / "projects" / package / "src" / package
        source.mkdir(parents=True)
        (source / "__init__.py").write_text(init)
        (source / "plugin.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        monkeypatch.syspath_prepend(str(source.parent))
        return source / "plugin.py"

    yield install
    for name in set(sys.modules) - before:
        del sys.modules[name]


def imported(module: str) -> type[Plugin]:
    found: type[Plugin] = __import__(module, fromlist=["GpuNodes"]).GpuNodes
    assert issubclass(found, Plugin)
    return found


def test_installed_plugin_is_known_by_its_name(install: Install) -> None:
    """As before: imported when it is asked for."""
    install("gpu_rules")
    assert default_registry().get("GpuNodes").source == "package gpu_rules 1.2"


def test_class_of_an_installed_package_runs_in_a_harness(install: Install) -> None:
    """The test of an author imports the class and passes it on."""
    install("gpu_rules")
    harness = Harness(
        plugins=[imported("gpu_rules.plugin")], nodes=[make_node("a"), make_node("b", labels={"gpu": "8"})]
    )
    assert harness.schedule(make_pod("p")).node_name == "b"


def test_class_of_an_installed_package_is_checked(install: Install) -> None:
    install("gpu_rules")
    check_plugin(imported("gpu_rules.plugin"))


@pytest.mark.parametrize("is_asked_for", [False, True], ids=["entry point not used", "entry point used"])
@pytest.mark.parametrize("form", ["class", "module", "file"])
def test_explicit_plugin_replaces_its_entry_point(install: Install, form: str, is_asked_for: bool) -> None:
    """And stays the source, so that a file is reloaded when it changes."""
    file = install("gpu_rules")
    registry = default_registry()
    if is_asked_for:
        registry.get("GpuNodes")
    if form == "class":
        registry.add(imported("gpu_rules.plugin"))
    else:
        registry.add_reference(f"{file if form == 'file' else 'gpu_rules.plugin'}:GpuNodes")
    expected = {"class": "this program", "module": "gpu_rules.plugin", "file": str(file)}[form]
    assert registry.get("GpuNodes").source == expected


def test_file_is_not_run_a_second_time_by_its_package(install: Install) -> None:
    """A module may do things at import that cannot be done twice, such as registering a metric."""
    file = install("gpu_rules")
    default_registry([f"{file}:GpuNodes"])
    assert "gpu_rules.plugin" not in sys.modules


def test_entry_point_may_name_a_package_that_imports_the_class(install: Install) -> None:
    """The class is what counts, not the module it is named by."""
    file = install("gpu_rules", entry=":GpuNodes", init="from gpu_rules.plugin import GpuNodes")
    for reference in ("gpu_rules:GpuNodes", "gpu_rules.plugin:GpuNodes", f"{file}:GpuNodes"):
        assert default_registry([reference]).get("GpuNodes").points == ("filter",)


def test_replaced_plugin_is_reloaded_from_its_file(install: Install) -> None:
    """The entry point does not come back."""
    file = install("gpu_rules")
    registry = default_registry([f"{file}:GpuNodes"])
    file.write_text(PLUGIN.replace("had no GPU", "lacked a GPU"))
    reloaded = registry.reloaded([str(file)])
    assert reloaded.get("GpuNodes").source == str(file)
    assert reloaded.get("GpuNodes").plugin is not registry.get("GpuNodes").plugin


def test_another_class_of_the_same_name_clashes(install: Install, tmp_path: Path) -> None:
    """Both sources are named."""
    install("gpu_rules")
    (tmp_path / "mine.py").write_text(PLUGIN)
    with pytest.raises(PluginError) as refused:
        default_registry([f"{tmp_path / 'mine.py'}:GpuNodes"])
    assert str(refused.value) == (
        f"{tmp_path / 'mine.py'}: a plugin called GpuNodes is there already "
        "(package gpu_rules 1.2, gpu_rules.plugin:GpuNodes); rename yours or uninstall the other"
    )


def test_entry_point_that_does_not_load_clashes(install: Install, tmp_path: Path) -> None:
    """It cannot be the same class; which package it is from is said."""
    install("gpu_rules", text="import nowhere_at_all\n")
    (tmp_path / "mine.py").write_text(PLUGIN)
    with pytest.raises(PluginError, match=r"is there already \(package gpu_rules 1\.2, "):
        default_registry([f"{tmp_path / 'mine.py'}:GpuNodes"])


def test_two_packages_with_one_name_clash_where_it_is_used(install: Install) -> None:
    """Installing both harms nobody who uses neither; naming the class chooses one."""
    install("gpu_rules")
    install("other_rules")
    registry = default_registry()
    with pytest.raises(PluginError) as refused:
        registry.get("GpuNodes")
    assert sorted(str(refused.value).split(" have ")[0].split(" and ")) == [
        "package gpu_rules 1.2",
        "package other_rules 1.2",
    ]
    assert registry.add_reference("other_rules.plugin:GpuNodes").source == "other_rules.plugin"


@pytest.mark.parametrize("form", ["file", "module"])
@pytest.mark.parametrize(
    "command", ["plugin check", "plugin list --plugin", "config check scheduler.yaml --plugin"]
)
def test_commands_accept_an_installed_plugin(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, form: str
) -> None:
    """By its file and by its module."""
    file = install("gpu_rules")
    monkeypatch.chdir(tmp_path)
    Path("scheduler.yaml").write_text(CONFIGURATION)
    reference = f"{file if form == 'file' else 'gpu_rules.plugin'}:GpuNodes"
    result = CliRunner().invoke(main, [*command.split(), reference])
    assert (result.exit_code, "there already" in result.output) == (0, False), result.output
