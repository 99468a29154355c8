"""The printed manifests, the kustomize base and the chart: the API server takes them, and they are the same."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from tests.e2e.api import Object
from tests.e2e.binaries import KUBERNETES_VERSION
from tests.e2e.control_plane import ControlPlane
from tests.e2e.deployed import of_kind, printed

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PLUGIN = '''
from bayplan import Plugin


class CpuNodes(Plugin):
    name = "sample"

    def filter(self, state, pod, node):
        """Every node will do."""
'''
ALONE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles: [{schedulerName: alone}]
"""


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="a second scheduler"),
        pytest.param(["--replace-default"], id="in place of the default"),
        pytest.param(["--name=other", "--namespace=default", "--replicas=3", "--controllers"], id="all else"),
    ],
)
def test_the_api_server_would_take_it(control_plane: ControlPlane, arguments: list[str]) -> None:
    """A dry run on the server goes through defaults, validation and admission, and stores nothing."""
    objects = printed(*arguments)
    text = yaml.safe_dump_all(objects)
    told = control_plane.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", stdin=text)
    assert told.count("serverside-applied (server dry run)") == len(objects)


def test_kustomize_makes_the_same(control_plane: ControlPlane) -> None:
    """kubectl builds the base to the objects that are printed."""
    made = list(
        yaml.safe_load_all(control_plane.kubectl("kustomize", str(ROOT / "deploy" / "kustomize" / "base")))
    )
    assert _by_kind(made) == _by_kind(printed())


def test_the_pods_are_restricted(control_plane: ControlPlane) -> None:
    """The strictest of the Pod Security Standards lets them in."""
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    control_plane.api.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "restricted", "labels": label}}
    )
    template = of_kind(printed(), "Deployment")["spec"]["template"]
    metadata = {"name": "scheduler", "namespace": "restricted"}
    spec = {**template["spec"], "priorityClassName": ""}
    control_plane.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def _by_kind(objects: list[Object]) -> dict[tuple[str, str], Object]:
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


HELM = ["template", "bayplan-scheduler", str(ROOT / "deploy" / "helm" / "bayplan"), "--namespace=kube-system"]


@pytest.mark.parametrize(
    ("values", "arguments"),
    [
        pytest.param([], [], id="a second scheduler"),
        pytest.param(["--set=replaceDefault=true"], ["--replace-default"], id="in place of the default"),
        pytest.param(
            ["--set=replicas=3,image.repository=registry/bayplan,image.tag=1,name=fast"],
            ["--replicas=3", "--image=registry/bayplan:1", "--name=fast"],
            id="other names",
        ),
        pytest.param(
            [
                "--set=controllers=true,serviceMonitor.enabled=true",
                "--set=plugins[0].name=sample,plugins[0].file=sample.py,plugins[0].class=CpuNodes",
                "--set-file=plugins[0].text={folder}/sample.py",
            ],
            ["--controllers", "--service-monitor", "--plugin={folder}/sample.py:CpuNodes"],
            id="with a plugin and all else",
        ),
        pytest.param(
            ["--set-file=configuration={folder}/alone.yaml", "--set=replicas=1"],
            ["--config={folder}/alone.yaml", "--replicas=1"],
            id="a configuration without an election",
        ),
    ],
)
def test_helm_makes_the_same(
    programs: dict[str, Path], tmp_path: Path, values: list[str], arguments: list[str]
) -> None:
    """With the values that an option stands for, the chart renders the objects that are printed."""
    (tmp_path / "sample.py").write_text(PLUGIN)
    (tmp_path / "alone.yaml").write_text(ALONE)
    made = _run_helm(programs, *HELM, *(each.format(folder=tmp_path) for each in values))
    assert made.returncode == 0, made.stderr
    rendered = [each for each in yaml.safe_load_all(made.stdout) if each is not None]
    assert _by_kind(rendered) == _by_kind(printed(*(each.format(folder=tmp_path) for each in arguments)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param(
            ["--set-file=configuration={folder}/alone.yaml"],
            "without leader election all 2 replicas would schedule at the same time",
            id="replicas without an election",
        ),
        pytest.param(
            ["--set-file=configuration={folder}/alone.yaml", "--set=replaceDefault=true"],
            "leave out schedulerName and replaceDefault",
            id="two configurations",
        ),
        pytest.param(["--set=plugins[0].file=a.py"], "each of plugins has a name", id="a plugin without a name"),
        pytest.param(
            ["--set=plugins[0].name=a,plugins[0].file=a.py,plugins[0].class=A"],
            "plugin a has no text",
            id="without its text",
        ),
        pytest.param(["--set=plugins[0].name=a"], "plugin a has no class", id="without its class"),
        pytest.param(["--set=replica=3"], "replica", id="a value that is misspelt"),
    ],
)
def test_helm_refuses_with_a_reason(
    programs: dict[str, Path], tmp_path: Path, values: list[str], message: str
) -> None:
    """Nothing is rendered, and the message says what is wrong."""
    (tmp_path / "alone.yaml").write_text(ALONE)
    made = _run_helm(programs, *HELM, *(each.format(folder=tmp_path) for each in values))
    assert made.returncode != 0
    assert message in made.stderr


def test_helm_finds_nothing_to_say(programs: dict[str, Path]) -> None:
    """The chart passes Helm's own linter, warnings included."""
    made = _run_helm(programs, "lint", "--strict", HELM[2])
    assert made.returncode == 0, made.stdout


def _run_helm(programs: dict[str, Path], *arguments: str) -> subprocess.CompletedProcess[str]:
    # A Helm that is built here does not know which Kubernetes it is for.
    version = f"--kube-version={KUBERNETES_VERSION}"
    return subprocess.run(  # noqa: S603
        [programs["helm"], *arguments, version], capture_output=True, text=True, timeout=60, check=False
    )
