"""`bayplan manifests`: the objects, what is refused, what is doubted; and that deploy/ and the image agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from bayplan.cli import main
from bayplan.deployment.manifest_objects import USER_ID

ROOT = Path(__file__).parents[3]
V1 = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PLUGIN = """
from bayplan import Plugin

class Mine(Plugin):
    name = "mine"

    def filter(self, state, pod, node):
        return None

class Other(Plugin):
    name = "other"

    def filter(self, state, pod, node):
        return None
"""
Object = dict[str, Any]


def run(*arguments: str, stdin: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["manifests", *arguments], input=stdin, prog_name="bayplan")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def objects(*arguments: str, stdin: str | None = None) -> dict[str, Object]:
    """Kind → object; of several of a kind, the first."""
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, result.output
    found: dict[str, Object] = {}
    for each in yaml.safe_load_all(result.stdout):
        found.setdefault(each["kind"], each)
    return found


def container(made: dict[str, Object]) -> Object:
    only: Object
    (only,) = made["Deployment"]["spec"]["template"]["spec"]["containers"]
    return only


def configuration(made: dict[str, Object]) -> Object:
    found: Object = yaml.safe_load(made["ConfigMap"]["data"]["scheduler.yaml"])
    return found


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    file = tmp_path / "mine.py"
    file.write_text(PLUGIN)
    return file


def write(folder: Path, text: str, name: str = "scheduler.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


# --- what is printed --------------------------------------------------------------------------------------


def test_a_second_scheduler_by_default() -> None:
    """Two replicas that elect a leader by a Lease of their own, for pods that ask for them by name."""
    made = objects()
    assert made["Deployment"]["spec"]["replicas"] == 2
    assert configuration(made)["profiles"] == [{"schedulerName": "bayplan-scheduler"}]
    election = {"leaderElect": True, "resourceNamespace": "kube-system", "resourceName": "bayplan-scheduler"}
    assert configuration(made)["leaderElection"] == election
    assert "ServiceMonitor" not in made


def test_in_place_of_the_default() -> None:
    """Its name, and its Lease: a kube-scheduler that is still there stands by, or Bayplan does."""
    made = objects("--replace-default", "--namespace=scheduling")
    assert configuration(made)["profiles"] == [{"schedulerName": "default-scheduler"}]
    assert configuration(made)["leaderElection"]["resourceName"] == "kube-scheduler"
    assert made["Role"]["metadata"]["namespace"] == "kube-system"
    assert made["Deployment"]["metadata"]["namespace"] == "scheduling"


def test_everything_has_the_given_names() -> None:
    """Name and namespace are in every object and in what refers to them."""
    made = objects(
        "--name=fast", "--namespace=team", "--image=registry/bayplan:1", "--replicas=3", "--service-monitor"
    )
    assert {each["metadata"]["name"] for each in made.values()} == {"fast"}
    (subject,) = made["ClusterRoleBinding"]["subjects"]
    assert (subject["name"], subject["namespace"]) == ("fast", "team")
    assert made["ClusterRoleBinding"]["roleRef"]["name"] == made["ClusterRole"]["metadata"]["name"]
    assert container(made)["image"] == "registry/bayplan:1"
    assert made["Deployment"]["spec"]["replicas"] == 3
    labels = made["Deployment"]["spec"]["template"]["metadata"]["labels"]
    for kind in ("PodDisruptionBudget", "ServiceMonitor"):
        assert made[kind]["spec"]["selector"]["matchLabels"] == labels
    assert made["Service"]["spec"]["selector"] == labels


def test_a_plugin_goes_along_and_is_enabled(plugin: Path) -> None:
    """Its file is in the ConfigMap, its name in the profile, the pod is told where it is."""
    made = objects(f"--plugin={plugin}:Mine", f"--plugin={plugin}:Other")
    assert made["ConfigMap"]["data"]["mine.py"] == PLUGIN
    enabled = configuration(made)["profiles"][0]["plugins"]["multiPoint"]["enabled"]
    assert enabled == [{"name": "mine"}, {"name": "other"}]
    told = [each for each in container(made)["args"] if each.startswith("--plugin")]
    assert told == ["--plugin=/etc/bayplan/mine.py:Mine", "--plugin=/etc/bayplan/mine.py:Other"]


def test_a_plugin_of_the_image_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is installed is not carried along."""
    (tmp_path / "installed_plugins.py").write_text(PLUGIN)
    monkeypatch.syspath_prepend(tmp_path)
    made = objects("--plugin=installed_plugins:Mine")
    assert list(made["ConfigMap"]["data"]) == ["scheduler.yaml"]
    assert container(made)["args"][-1] == "--plugin=installed_plugins:Mine"


def test_the_pod_can_find_what_it_is_told_of(plugin: Path) -> None:
    """Every file of the arguments is in the mounted ConfigMap."""
    made = objects(f"--plugin={plugin}:Mine")
    mounted = {f"/etc/bayplan/{name}" for name in made["ConfigMap"]["data"]}
    told = re.findall(r"/etc/bayplan/[\w.]+", " ".join(container(made)["args"]))
    assert set(told) == mounted
    (volume,) = [each for each in made["Deployment"]["spec"]["template"]["spec"]["volumes"] if "configMap" in each]
    assert volume["configMap"]["name"] == made["ConfigMap"]["metadata"]["name"]


def test_own_configuration_is_kept_to_the_letter(tmp_path: Path) -> None:
    """Comments included; the rights for the Lease are those of the Lease that it names."""
    election = "leaderElection: {resourceNamespace: locks, resourceName: mine}"
    text = f"# ours\n{V1}{election}\nprofiles: [{{schedulerName: x}}]\n"
    made = objects(f"--config={write(tmp_path, text)}")
    assert made["ConfigMap"]["data"]["scheduler.yaml"] == text
    assert made["Role"]["metadata"]["namespace"] == "locks"
    assert [rule.get("resourceNames") for rule in made["Role"]["rules"]] == [None, ["mine"], None]


def test_configuration_from_standard_input() -> None:
    """`-` is read once, and carried along."""
    made = objects(
        "--config=-", stdin=f"{V1}leaderElection: {{resourceName: mine}}\nprofiles: [{{schedulerName: x}}]\n"
    )
    assert configuration(made)["leaderElection"] == {"resourceName": "mine"}


def test_one_replica_without_election(tmp_path: Path) -> None:
    """No Lease, no rights for one, and no second pod while the first is still there."""
    file = write(tmp_path, f"{V1}leaderElection: {{leaderElect: false}}\nprofiles: [{{schedulerName: x}}]\n")
    made = objects(f"--config={file}", "--replicas=1")
    assert "Role" not in made
    assert made["Deployment"]["spec"]["strategy"] == {"type": "Recreate"}


def test_controllers_and_further_rights() -> None:
    """What is asked for is in the arguments and in the rules."""
    made = objects("--controllers", "--allow=get,patch:foos.example.com")
    assert "--controllers" in container(made)["args"]
    rule = {"apiGroups": ["example.com"], "resources": ["foos"], "verbs": ["get", "patch"]}
    assert made["ClusterRole"]["rules"][-1] == rule


# --- what is refused, what is doubted -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--config=nowhere.yaml"], "'nowhere.yaml' does not exist", id="no such configuration"),
        pytest.param(["--plugin=nowhere.py:Mine"], "nowhere.py: no such file", id="no such plugin"),
        pytest.param(["--plugin=mine.py"], "write path/to/file.py:ClassName", id="no class"),
        pytest.param(["--plugin={folder}/mine.py:Wrong"], "its plugins are: Mine, Other", id="no such class"),
        pytest.param(
            ["--plugin={folder}/broken.py:X"], "does not load: line 1: ValueError: no", id="does not load"
        ),
        pytest.param(
            ["--plugin={folder}/raises.py:Raises"], "its constructor raised KeyError: 'x'", id="cannot be made"
        ),
        pytest.param(
            ["--plugin={folder}/mine.py:Mine", "--plugin={folder}/same/mine.py:Third"],
            "a ConfigMap cannot have two files of the same name",
            id="two files of a name",
        ),
        pytest.param(
            ["--plugin={folder}/my plugin.py:Spaced"], "'my plugin.py' cannot be a key of a ConfigMap", id="no key"
        ),
        pytest.param(["--plugin={folder}/large.py:Large"], "a ConfigMap holds 1048576", id="too large"),
        pytest.param(
            ["--config={folder}/alone.yaml"],
            "set leaderElection.leaderElect to true, or --replicas to 1",
            id="replicas without an election",
        ),
        pytest.param(
            ["--config={folder}/file.yaml"],
            "give it as --plugin {folder}/mine.py:Mine",
            id="a plugin of a file that stays behind",
        ),
        pytest.param(["--config={folder}/wrong.yaml"], "wrong.yaml:3: ", id="a configuration with a mistake"),
        pytest.param(
            ["--config={folder}/alone.yaml", "--replace-default"],
            "exclude each other",
            id="two configurations",
        ),
        pytest.param(["--name=My_Scheduler"], "'My_Scheduler' is not a valid name", id="no name"),
        pytest.param(["--allow=read:secrets"], "no verb 'read'", id="no verb"),
        pytest.param(["--replicas=0"], "x>=1", id="no replica"),
    ],
)
def test_refuses_with_a_reason(plugin: Path, arguments: list[str], message: str) -> None:
    """Nothing is printed that kubectl could apply, and the message says what would be right."""
    folder = plugin.parent
    class_of = (
        "from bayplan import Plugin\nclass {0}(Plugin):\n    name = '{0}'\n    def filter(self, s, p, n): ...\n"
    )
    (folder / "same").mkdir()
    write(folder / "same", class_of.format("Third"), "mine.py")
    write(folder, class_of.format("Spaced"), "my plugin.py")
    write(folder, class_of.format("Large") + "#" * (1 << 20), "large.py")
    write(folder, "raise ValueError('no')\n", "broken.py")
    write(
        folder, class_of.format("Raises") + "    def __init__(self, args, handle):\n        {}['x']\n", "raises.py"
    )
    write(folder, f"{V1}leaderElection: {{leaderElect: false}}\n", "alone.yaml")
    by_file = f"{{multiPoint: {{enabled: [{{name: '{plugin}:Mine'}}]}}}}"
    write(folder, f"{V1}profiles: [{{schedulerName: x, plugins: {by_file}}}]\n", "file.yaml")
    write(folder, f"{V1}parallel: 3\n", "wrong.yaml")

    result = run(*(each.format(folder=folder) for each in arguments))

    assert result.exit_code != 0
    assert message.format(folder=folder) in result.stderr
    assert not result.stdout


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        pytest.param(
            "profiles: [{schedulerName: x}]",
            "set leaderElection.resourceName to another name",
            id="a second scheduler that waits for the first one's Lease",
        ),
        pytest.param(
            "leaderElection: {resourceName: mine}",
            "would schedule the same pods",
            id="the default's name without its Lease",
        ),
        pytest.param(
            "clientConnection: {kubeconfig: /etc/admin.conf}",
            "clientConnection.kubeconfig names /etc/admin.conf",
            id="a kubeconfig that stays behind",
        ),
        pytest.param("profiles: [{}]", "no profile enables the plugin mine", id="a plugin for nothing"),
    ],
)
def test_warnings_are_printed(plugin: Path, text: str, warning: str) -> None:
    """It may be meant: the objects are printed, and the warning goes to standard error."""
    result = run(f"--config={write(plugin.parent, f'{V1}{text}')}", f"--plugin={plugin}:Mine")
    assert result.exit_code == 0
    assert [line for line in result.stderr.splitlines() if line.startswith("warning: ") and warning in line]


def test_what_is_as_it_should_be_is_not_doubted() -> None:
    """The configurations that we write ourselves raise no doubt."""
    assert run().stderr == ""
    assert run("--replace-default").stderr == ""


# --- what goes with it --------------------------------------------------------------------------------------


def test_kustomize_base_is_what_is_printed() -> None:
    """`bayplan manifests > deploy/kustomize/base/bayplan.yaml` makes it so again."""
    assert (ROOT / "deploy" / "kustomize" / "base" / "bayplan.yaml").read_text() == run().stdout


def test_image_and_pod_have_the_same_user() -> None:
    """A number, because runAsNonRoot cannot tell it from a name."""
    assert f"USER {USER_ID}:{USER_ID}\n" in (ROOT / "Dockerfile").read_text()


def test_image_is_made_of_what_is_there() -> None:
    """What the Dockerfile copies exists, and is not ignored."""
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    kept = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert sorted(names) == sorted(kept)
    assert all((ROOT / name).exists() for name in names)


def test_chart_is_of_our_version() -> None:
    """The chart's appVersion is the image's tag, and that is the one that is printed."""
    chart = yaml.safe_load((ROOT / "deploy" / "helm" / "bayplan" / "Chart.yaml").read_text())
    assert container(objects())["image"] == f"bayplan:{chart['appVersion']}"


def test_what_a_plugin_watches_in_one_namespace_needs_a_role_there(plugin: Path) -> None:
    """One Secret by name: nobody may read the others. Background work is not started to find that out."""
    watching = """
    def __init__(self, args, handle):
        super().__init__(args, handle)
        handle.informers.lister("secrets.v1", namespace="ci", fields="metadata.name=token")
        handle.spawn(self._poll())

    async def _poll(self):
        raise AssertionError("started")
"""
    plugin.write_text(PLUGIN.replace('    name = "mine"\n', f'    name = "mine"\n{watching}'))
    result = run(f"--plugin={plugin}:Mine")
    made = list(yaml.safe_load_all(result.stdout))
    in_namespace = [each for each in made if each["metadata"].get("namespace") == "ci"]
    role, binding = in_namespace
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["list", "watch"], "resourceNames": ["token"]}
    assert (role["kind"], role["rules"]) == ("Role", [rule])
    assert (binding["kind"], binding["roleRef"]["name"]) == ("RoleBinding", role["metadata"]["name"])
    (cluster_role,) = [each for each in made if each["kind"] == "ClusterRole"]
    assert not [each for each in cluster_role["rules"] if "secrets" in each["resources"]]
