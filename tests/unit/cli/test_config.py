"""`bayplan config show`, `check` and `migrate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from bayplan.cli import main
from bayplan.cli.demo import CONFIGURATION, PLUGIN

V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
BETA = "apiVersion: kubescheduler.config.k8s.io/v1beta2\nkind: KubeSchedulerConfiguration\n"
RELEASES = ("1.36", "1.37")
POLICY = '{"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": "PodFitsResources"}], "priorities": []}'


def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
    result = CliRunner().invoke(main, ["config", *arguments], input=stdin, prog_name="bayplan")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def write(directory: Path, text: str, name: str = "scheduler.yaml") -> str:
    file = directory / name
    file.write_text(text)
    return str(file)


# --- show ---------------------------------------------------------------------------------------------------


def test_shows_the_default_configuration() -> None:
    """Without a file: what a scheduler without a configuration runs with, as YAML."""
    result = run("show")

    shown = yaml.safe_load(result.stdout)
    assert result.exit_code == 0
    assert shown["kind"] == "KubeSchedulerConfiguration"
    assert shown["leaderElection"]["leaseDuration"] == "15s"
    assert shown["profiles"][0]["schedulerName"] == "default-scheduler"


def test_shows_the_defaults_of_a_release() -> None:
    """NodeName comes first in 1.37, and pod groups have an extension point."""
    older, newer = (json.loads(run("show", "--emulated-version", each, "-o", "json").stdout) for each in RELEASES)

    plugins = [each["profiles"][0]["plugins"] for each in (older, newer)]
    assert ["podGroupPostFilter" in each for each in plugins] == [False, True]
    assert [each["multiPoint"]["enabled"][2]["name"] for each in plugins] == ["NodeUnschedulable", "NodeName"]


def test_checks_against_a_release(tmp_path: Path) -> None:
    """What is valid in one release may be unknown in another; others are refused."""
    file = write(tmp_path, V1 + "profiles: [{plugins: {podGroupPostFilter: {}}}]\n")

    assert [run("check", file, "--emulated-version", each).exit_code for each in RELEASES] == [1, 0]
    assert "supported are 1.36 and 1.37" in run("check", file, "--emulated-version", "1.2").stderr


def test_what_is_shown_loads_again(tmp_path: Path) -> None:
    """The effective configuration is a configuration, and means itself."""
    text = run("show").stdout

    assert run("show", write(tmp_path, text)).stdout == text


def test_json_holds_the_same(tmp_path: Path) -> None:
    """-o json and -o yaml differ in form only."""
    file = write(tmp_path, V1 + "parallelism: 3\n")

    as_json = json.loads(run("show", file, "-o", "json").stdout)

    assert as_json == yaml.safe_load(run("show", file, "-o", "yaml").stdout)
    assert as_json["parallelism"] == 3


def test_expanded_is_a_table_for_people() -> None:
    """Per extension point the plugins in their order; a weight where there is one."""
    lines = run("show", "--expanded", "--emulated-version", "1.36").stdout.splitlines()

    assert lines[0] == "Profile default-scheduler"
    assert "queueSort        PrioritySort" in lines
    assert "bind             DefaultBinder" in lines
    assert "score            TaintToleration×3, NodeAffinity×2, NodeResourcesFit×1, VolumeBinding×1," in lines


def test_expanded_for_machines() -> None:
    """With -o the table is data: scheduler name, extension point, plugins with weights."""
    expanded = json.loads(run("show", "--expanded", "-o", "json").stdout)

    assert expanded["default-scheduler"]["queueSort"] == [{"name": "PrioritySort"}]
    assert expanded["default-scheduler"]["score"][0] == {"name": "TaintToleration", "weight": 3}


def test_several_profiles_are_shown_one_after_another() -> None:
    """Each has its heading."""
    text = V1 + "profiles: [{schedulerName: one}, {schedulerName: two}]\n"

    output = run("show", "-", "--expanded", stdin=text).stdout

    assert [line for line in output.splitlines() if line.startswith("Profile")] == ["Profile one", "Profile two"]


def test_shows_a_plugin_given_by_reference() -> None:
    """--plugin makes it known; the configuration goes by its name."""
    output = run("show", str(CONFIGURATION), "--plugin", f"{PLUGIN}:CpuNodes", "--expanded").stdout

    assert "CpuNodes" in output


def test_a_policy_can_be_given_by_its_flag(tmp_path: Path) -> None:
    """--policy-config-file is the same as FILE; what it became is said as warnings, beside the output."""
    file = write(tmp_path, POLICY, "policy.json")

    by_flag, by_name = run("show", "--policy-config-file", file), run("show", file)

    assert by_flag.stdout == by_name.stdout
    assert "NodeResourcesFit" in by_flag.stdout
    assert ": warning: " in by_flag.stderr


def test_one_file_only() -> None:
    """FILE and --policy-config-file exclude each other."""
    result = run("show", "-", "--policy-config-file", "-")

    assert result.exit_code == 2
    assert "give FILE or --policy-config-file, not both" in result.stderr


def test_a_wrong_configuration_is_not_shown(tmp_path: Path) -> None:
    """Everything that is wrong goes to standard error; nothing is printed that could be mistaken for a result."""
    file = write(tmp_path, V1 + "parallelism: -1\nprofils: []\n")

    result = run("show", file)

    assert (result.exit_code, result.stdout) == (1, "")
    assert f'{file}:4: profils: unknown field; did you mean "profiles"?' in result.stderr
    assert f"{file}:3: parallelism: " in result.stderr


# --- check --------------------------------------------------------------------------------------------------


def test_a_right_configuration_is_fine(tmp_path: Path) -> None:
    """The last word names the profiles."""
    file = write(tmp_path, V1 + "profiles: [{schedulerName: one}, {schedulerName: two}]\n")

    result = run("check", file)

    assert (result.exit_code, result.output) == (0, f"{file} is valid: 2 profiles (one, two)\n")


def test_everything_wrong_is_said_at_once(tmp_path: Path) -> None:
    """One line per finding, in the order of the file, each with its place and a hint."""
    file = write(
        tmp_path,
        V1
        + """\
parallelism: 0
profiles:
- plugins:
    scores: {}
    score:
      enabled: [{name: NodeNam}]
  extenders: []
""",
    )

    result = run("check", file)

    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{file}:3: parallelism: 0 must be greater than 0",
        f'{file}:6: profiles[0].plugins.scores: unknown field; did you mean "score"?',
        f'{file}:8: profiles[0].plugins.score.enabled[0]: there is no plugin "NodeNam"; did you mean "NodeName"?',
        f"{file}:9: profiles[0].extenders: unknown field; extenders belong at the top level, beside profiles, "
        "and are shared by all profiles",
    ]
    assert result.stderr == f"{file}: 4 errors\n"


def test_warnings_are_not_wrong(tmp_path: Path) -> None:
    """They are printed as such, and the status stays 0."""
    file = write(tmp_path, V1 + "profiles: [{pluginConfig: [{name: Nobody, args: {}}]}]\n")

    result = run("check", file)

    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        f'{file}:3: warning: profiles[0].pluginConfig[0]: there is no plugin "Nobody"; its arguments are ignored',
        f"{file} is valid, with 1 warning: 1 profile (default-scheduler)",
    ]


def test_several_files_are_all_checked(tmp_path: Path) -> None:
    """One wrong file does not hide the next one."""
    wrong, right = write(tmp_path, V1 + "paralelism: 1\n", "wrong.yaml"), write(tmp_path, V1, "right.yaml")

    result = run("check", wrong, right)

    assert result.exit_code == 1
    assert f'{wrong}:3: paralelism: unknown field; did you mean "parallelism"?' in result.stdout
    assert f"{right} is valid: 1 profile (default-scheduler)" in result.stdout


def test_standard_input_has_a_name() -> None:
    """`-` is called <stdin> in messages."""
    assert run("check", "-", stdin=V1).output == "<stdin> is valid: 1 profile (default-scheduler)\n"


def test_a_policy_is_checked_by_its_flag(tmp_path: Path) -> None:
    """A Policy is understood, with warnings for what it became."""
    file = write(tmp_path, POLICY, "policy.json")

    result = run("check", "--policy-config-file", file)

    assert result.exit_code == 0
    assert f"{file} is valid, with " in result.stdout


def test_something_must_be_checked() -> None:
    """No file is a mistake, not a success."""
    result = run("check")

    assert result.exit_code == 2
    assert "Missing argument 'FILE...'" in result.stderr


# --- migrate ------------------------------------------------------------------------------------------------


def test_migrates_to_v1_with_comments(tmp_path: Path) -> None:
    """What is printed is v1, says what changed, and loads."""
    file = write(
        tmp_path,
        BETA
        + "profiles: [{plugins: {score: {enabled: [{name: NodePreferAvoidPods, weight: 1}]}}}]\n"
        + "healthzBindAddress: 0.0.0.0:10251\n",
    )

    result = run("migrate", file)

    assert result.exit_code == 0
    assert "apiVersion: kubescheduler.config.k8s.io/v1\n" in result.stdout
    assert [line for line in result.stdout.splitlines() if line.lstrip().startswith("#")]
    assert run("check", "-", stdin=result.stdout).exit_code == 0


def test_migrates_a_policy(tmp_path: Path) -> None:
    """FILE or the flag, the result is the same."""
    file = write(tmp_path, POLICY, "policy.json")

    result = run("migrate", "--policy-config-file", file)

    assert result.stdout == run("migrate", file).stdout
    assert run("check", "-", stdin=result.stdout).exit_code == 0


def test_migrate_tells_what_the_newest_release_changes() -> None:
    """As comments at the end: what is printed is still a configuration."""
    output = run("migrate", "-", stdin=V1).stdout

    assert "# From Kubernetes 1.36 to 1.37:\n" in output
    assert "# - profile default-scheduler: filter: NodeName runs before NodeUnschedulable\n" in output
    assert yaml.safe_load(output) == yaml.safe_load(V1)


def test_migrate_refuses_what_it_cannot_read(tmp_path: Path) -> None:
    """With the place, as everywhere."""
    file = write(tmp_path, "a: [\n")

    result = run("migrate", file)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"{file}:")


def test_migrate_wants_one_file() -> None:
    """None is one too few, and two are one too many."""
    assert run("migrate").exit_code == 2
    assert run("migrate", "-", "--policy-config-file", "-").exit_code == 2


# --- bad input ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["show", "check", "migrate"])
def test_a_missing_file_is_named(command: str) -> None:
    """Status 2, as for everything that is wrong with the command line itself."""
    result = run(command, "no-such-file.yaml")

    assert result.exit_code == 2
    assert "'no-such-file.yaml' does not exist" in result.stderr


@pytest.mark.parametrize("command", ["show", "check", "migrate"])
def test_what_is_no_text_is_refused(command: str) -> None:
    """A binary file gets a sentence, not a traceback."""
    result = run(command, "-", stdin=b"\xff\xfe\x00")

    assert result.exit_code == 1
    assert "<stdin>: not text in UTF-8" in result.stderr


@pytest.mark.parametrize(
    ("source", "reference", "message"),
    [
        (None, "plugin.py:Mine", "plugin.py: no such file"),
        (None, "no_such_module:Mine", "no_such_module does not load: "),
        (None, "Mine", "'Mine' names no plugin; write path/to/file.py:ClassName or module:ClassName"),
        ("import nothing_there", "plugin.py:Mine", "ModuleNotFoundError: No module named 'nothing_there'"),
        ("def x(:\n", "plugin.py:Mine", "plugin.py does not load: SyntaxError"),
        ("x = 1\n", "plugin.py:Mine", "plugin.py has no class Mine; it has no plugin class"),
        (
            "from bayplan import Plugin\nclass Mine(Plugin):\n    name = 'Mine'\n    def prefilter(self): ...\n",
            "plugin.py:Mine",
            "plugin Mine: method prefilter is no extension point; did you mean pre_filter?",
        ),
    ],
    ids=["no file", "no module", "no reference", "import fails", "syntax error", "no class", "misspelt method"],
)
def test_a_plugin_that_does_not_load_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, reference: str, message: str
) -> None:
    """Every way a --plugin can be wrong is one sentence and status 1."""
    monkeypatch.chdir(tmp_path)
    if source is not None:
        write(tmp_path, source, "plugin.py")

    result = run("check", "-", "--plugin", reference, stdin=V1)

    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_a_constructor_that_raises_is_found(tmp_path: Path) -> None:
    """Fine means that a scheduler can be built: the plugins are, and one that refuses is named."""
    file = write(
        tmp_path,
        "from bayplan import Plugin\n"
        "class Mine(Plugin):\n"
        "    name = 'Mine'\n"
        "    def __init__(self, args, handle): raise ValueError('no licence')\n"
        "    def filter(self, state, pod, node): ...\n",
        "mine.py",
    )
    text = V1 + "profiles: [{plugins: {multiPoint: {enabled: [{name: Mine}]}}}]\n"

    result = run("check", "-", "--plugin", f"{file}:Mine", stdin=text)

    assert result.exit_code == 1
    assert result.stdout == f"<stdin>: plugin Mine ({file}): its constructor raised ValueError: no licence\n"
