"""Reloading: which files changed, and what is done about it. The whole of it is in tests/integration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from bayplan import config
from bayplan.framework import PluginError, Registry
from bayplan.process.reloading import Reloader, WatchedFiles
from bayplan.scheduler import default_registry

RULE = """
from bayplan import Plugin

class Rule(Plugin):
    name = "Rule"

    def score(self, state, pod, node):
        return 1
"""


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    file = tmp_path / "rule.py"
    file.write_text(RULE)
    return file


class Service:
    """What the reloader uses of a service."""

    def __init__(self) -> None:
        self.registries: list[Registry] = []
        self.refuses = False

    def replace_plugins(self, loaded: config.Loaded, registry: Registry) -> None:
        if self.refuses:
            raise PluginError("no")
        self.registries.append(registry)


def reloader(service: Service, rule: Path) -> Reloader:
    return Reloader(cast("Any", service), default_registry([f"{rule}:Rule"]), config.default)


# --- files ----------------------------------------------------------------------------------------


def test_an_untouched_file_has_not_changed(rule: Path) -> None:
    assert WatchedFiles([str(rule)]).changed() == []


@pytest.mark.parametrize("same_size", [True, False], ids=["same length", "other length"])
def test_a_saved_file_has_changed_until_it_is_noted(rule: Path, same_size: bool) -> None:
    files = WatchedFiles([str(rule)])
    rule.write_text(RULE.replace("return 1", "return 2" if same_size else "return 100"))
    assert files.changed() == [str(rule)]
    files.note(files.changed())
    assert files.changed() == []


def test_a_file_that_is_replaced_has_changed(rule: Path) -> None:
    """Editors write another file and rename it; the times may be the same."""
    files = WatchedFiles([str(rule)])
    other = rule.with_name("other.py")
    other.write_text(RULE)
    times = rule.stat()
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(rule)
    assert files.changed() == [str(rule)]


@pytest.mark.parametrize("between", ["gone", "empty"])
def test_a_file_in_the_middle_of_a_save_is_left_alone(rule: Path, between: str) -> None:
    """Some editors remove the file first, others empty it."""
    files = WatchedFiles([str(rule)])
    if between == "gone":
        rule.unlink()
    else:
        rule.write_text("")
    assert files.changed() == []
    rule.write_text(RULE + "# more\n")
    assert files.changed() == [str(rule)]


# --- reloading ------------------------------------------------------------------------------------


def test_it_replaces_plugins_after_a_save(rule: Path) -> None:
    """The service is given other plugins only after a save."""
    service = Service()
    reloading = reloader(service, rule)
    reloading.look()
    assert service.registries == []
    rule.write_text(RULE.replace("return 1", "return 2"))
    reloading.look()
    reloading.look()
    assert len(service.registries) == 1


def test_a_refused_registry_is_not_kept(rule: Path) -> None:
    """After a save that the service refused, the next one starts from what runs."""
    service = Service()
    reloading = reloader(service, rule)
    service.refuses = True
    rule.write_text(RULE.replace('"Rule"', '"Other"'))
    reloading.look()
    service.refuses = False
    rule.write_text(RULE + "# back\n")
    reloading.look()
    assert [registry.get("Rule").plugin.name for registry in service.registries] == ["Rule"]


# --- the registry's part --------------------------------------------------------------------------


def test_reloaded_registry_has_other_classes(rule: Path) -> None:
    """Those of the files; everything else is the same, and the old registry too."""
    registry = default_registry([f"{rule}:Rule"])
    before, fit = registry.get("Rule").plugin, registry.get("NodeResourcesFit").plugin
    rule.write_text(RULE.replace("return 1", "return 2"))
    reloaded = registry.reloaded(registry.files)
    after: Any = reloaded.get("Rule").plugin
    assert after is not before
    assert (after.score(None, None, None, None), reloaded.get("NodeResourcesFit").plugin) == (2, fit)
    assert registry.get("Rule").plugin is before


def test_two_classes_of_a_file_stay_together(rule: Path) -> None:
    """The file is run once for all of its classes, so that they share what is in it."""
    rule.write_text(RULE + RULE.replace("Rule", "Second") + "BOTH = object()\n")
    registry = default_registry([f"{rule}:Rule", f"{rule}:Second"])
    assert registry.files == [str(rule)]
    reloaded = registry.reloaded(registry.files)
    first, second = reloaded.get("Rule").plugin, reloaded.get("Second").plugin
    assert vars(first)["score"].__globals__ is vars(second)["score"].__globals__


def test_a_file_saved_twice_within_a_second(rule: Path) -> None:
    """Bytecode kept for the first would do for the second, by its time and its size."""
    registry = default_registry([f"{rule}:Rule"])
    times = rule.stat()
    rule.write_text(RULE.replace("return 1", "return 3"))
    os.utime(rule, ns=(times.st_atime_ns, times.st_mtime_ns))
    plugin: Any = registry.reloaded(registry.files).get("Rule").plugin
    assert plugin.score(None, None, None, None) == 3


def test_a_file_that_does_not_load_leaves_its_module(rule: Path) -> None:
    """The reference still gives what was there."""
    registry = default_registry([f"{rule}:Rule"])
    rule.write_text("1 / 0")
    with pytest.raises(PluginError, match="line 1: ZeroDivisionError"):
        registry.reloaded(registry.files)
    assert registry.add_reference(f"{rule}:Rule") is registry.get("Rule")
