"""`bayplan plugin`: begin, check, list and measure plugins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bayplan.cli import main
from bayplan.testing import cost
from bayplan.testing.cost import Cost

RULE = """
from bayplan import Args, Plugin

class RuleArgs(Args):
    best: int = 100

class Rule(Plugin[RuleArgs]):
    name = "Rule"

    def score(self, state, pod, node):
        return self.args.best
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`bayplan plugin …` in a folder with rule.py."""
    monkeypatch.chdir(tmp_path)
    Path("rule.py").write_text(RULE)
    return lambda *words: CliRunner().invoke(main, ["plugin", *words])


# --- new ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "folder", "module"),
    [
        pytest.param("PreferSsd", "prefer-ssd", "prefer_ssd", id="two words"),
        pytest.param("GPUFirst", "gpu-first", "gpu_first", id="an abbreviation"),
        pytest.param("Rack2", "rack2", "rack2", id="a digit"),
    ],
)
def test_new_makes_a_project(run: Callable[..., Result], name: str, folder: str, module: str) -> None:
    """Code, test, configuration, a pod and a README; the plugin keeps the contract as it stands."""
    assert run("new", name).exit_code == 0
    made = {file.name for file in Path(folder).iterdir()}
    assert made == {f"{module}.py", f"test_{module}.py", "scheduler.yaml", "pod.yaml", "README.md"}
    assert run("check", f"{folder}/{module}.py").output == f"{name} (filter, score): fine\n"
    checked = CliRunner().invoke(
        main, ["config", "check", f"{folder}/scheduler.yaml", "--plugin", f"{folder}/{module}.py:{name}"]
    )
    assert checked.exit_code == 0, checked.output


def test_new_goes_where_it_is_told(run: Callable[..., Result]) -> None:
    assert run("new", "Rule", "--into", "some/where").exit_code == 0
    assert Path("some/where/rule.py").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["lower"], "'lower' is not a valid plugin name", id="no capital"),
        pytest.param(["Two Words"], "'Two Words' is not a valid plugin name", id="a space"),
        pytest.param(["Rule", "--into", "."], ". exists and is not empty", id="somebody's folder"),
    ],
)
def test_new_refuses(run: Callable[..., Result], words: list[str], told: str) -> None:
    """With what would be right, and without touching anything."""
    result = run("new", *words)
    assert result.exit_code == 1
    assert told in result.output
    assert Path("rule.py").read_text() == RULE


# --- check ----------------------------------------------------------------------------------------


def test_check_is_content(run: Callable[..., Result]) -> None:
    result = run("check", "rule.py")
    assert (result.exit_code, result.output) == (0, "Rule (score): fine\n")


def test_check_with_arguments(run: Callable[..., Result]) -> None:
    """Those of its pluginConfig; a plugin may be right with some and wrong with others."""
    Path("args.yaml").write_text("best: 101\n")
    result = run("check", "rule.py", "--args", "args.yaml")
    assert result.exit_code == 1
    assert "Rule (score): 1 fault\n- for the pod plain and 6 more: " in result.output
    assert 'plugin "Rule" returns an invalid score 101' in result.output


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("- 1", "the arguments of a plugin must be a mapping", id="a list"),
        pytest.param("a: [", "args.yaml: not YAML", id="no YAML"),
        pytest.param("bset: 1", 'unknown field; did you mean "best"?', id="an unknown field"),
    ],
)
def test_check_refuses_arguments(run: Callable[..., Result], text: str, told: str) -> None:
    Path("args.yaml").write_text(text)
    result = run("check", "rule.py", "--args", "args.yaml")
    assert result.exit_code == 1
    assert told in result.output


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        pytest.param("gone.py", "gone.py: cannot be read: No such file", id="no file"),
        pytest.param("rule.py:Rul", "rule.py has no class Rul; its plugins are: Rule", id="no class"),
        pytest.param("empty.py", "empty.py: contains no plugin", id="no plugin"),
        pytest.param("broken.py", "broken.py:1: '(' was never closed", id="no Python"),
        pytest.param("wrong.py", "did you mean pre_filter?", id="a misspelt method"),
    ],
)
def test_check_says_what_does_not_load(run: Callable[..., Result], reference: str, told: str) -> None:
    Path("empty.py").write_text("x = 1\n")
    Path("broken.py").write_text("f(")
    Path("wrong.py").write_text(RULE.replace("def score(self, state, pod, node)", "def prefilter(self)"))
    result = run("check", reference)
    assert result.exit_code == 1
    assert told in result.output


# --- list -----------------------------------------------------------------------------------------


def test_list_has_yours_and_ours(run: Callable[..., Result]) -> None:
    """Name, weight in the default profile, source, arguments, points."""
    lines = run("list", "--plugin", "rule.py:Rule").output.splitlines()
    assert ["Rule", "off", "rule.py", "RuleArgs", "score"] in [line.split() for line in lines]
    (taints,) = [line.split() for line in lines if line.startswith("TaintToleration")]
    assert taints[1:4] == ["3", "built", "in"]


# --- bench ----------------------------------------------------------------------------------------


def test_bench_tells_cost_and_what_is_left(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    """Own time per node and decision, decisions a second, and of those without; columns where they would help."""
    costs = [Cost(100, with_plugin=0.002, without=0.001), Cost(5000, with_plugin=0.02, without=0.01)]
    monkeypatch.setattr(cost, "measure", lambda plugin: costs)
    output = run("bench", "rule.py").output
    rows = [line.split() for line in output.splitlines()]
    assert ["100", "10.00", "1.00", "500", "50%"] in rows
    assert ["5,000", "2.00", "10.00", "50", "50%"] in rows
    assert "score_nodes" in output


def test_a_cheap_plugin_is_left_in_peace(run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "measure", lambda plugin: [Cost(5000, with_plugin=0.0101, without=0.01)])
    assert "score_nodes" not in run("bench", "rule.py").output
