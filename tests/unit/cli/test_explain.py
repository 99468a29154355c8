"""`bayplan explain`: its text as a reader sees it, its forms, and its answers to bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from bayplan.cli import main

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "why-is-my-pod-pending"
CLUSTER = ["--snapshot", str(GUIDE / "cluster.yaml"), "--snapshot", str(GUIDE / "more-nodes.yaml")]


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, ["explain", *arguments], prog_name="bayplan")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_text_fits_80_columns() -> None:
    """Long reasons are wrapped in their column."""
    result = run("second", "--width", "80", "--suggestions", "2", *CLUSTER[:2])

    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) == 80
    assert result.stdout.startswith(
        "No node takes default/second: 2 node(s) unavailable due to PersistentVolumeClaim\n"
        "with ReadWriteOncePod access mode already in-use by another pod.\n"
        "\n"
        "NODES  PLUGIN              REASON\n"
        "    2  VolumeRestrictions  node(s) unavailable due to PersistentVolumeClaim with\n"
        "                           ReadWriteOncePod access mode already in-use by\n"
        "                           another pod\n"
        "                           a-1, a-2\n"
    )
    assert result.stdout.endswith(
        "What would help (each verified with the scheduler's own filters)\n"
        " 1. delete the pod default/store → a-1 and 1 more\n"
        " 2. use an emptyDir for the volume data → a-1 and 1 more\n"
        "    (what is on the volume is not in an emptyDir)\n"
    )


def test_text_uses_160_columns() -> None:
    """The same without the breaks."""
    result = run("second", "--width", "160", "--suggestions", "2", *CLUSTER[:2])

    assert 80 < max(map(len, result.stdout.splitlines())) <= 160
    reason = (
        "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
        "another pod"
    )
    assert f"    2  VolumeRestrictions  {reason}\n{' ' * 27}a-1, a-2\n" in result.stdout


def test_text_in_a_file_has_no_colours() -> None:
    assert "\x1b" not in run("cpu", *CLUSTER).stdout


def test_what_was_not_looked_for_is_not_missed() -> None:
    """Without a search nobody knows whether a change would help."""
    assert "No single change" not in run("cpu", "--suggestions", "0", *CLUSTER).stdout


def test_wide_shows_the_changes() -> None:
    assert "    patch Node c-1\n" in run("cpu", "-o", "wide", *CLUSTER).stdout


def test_json_and_yaml_say_the_same() -> None:
    """With the version of the format, and changes that can be applied."""
    as_json = json.loads(run("selector", "-o", "json", *CLUSTER).stdout)
    as_yaml = yaml.safe_load(run("selector", "-o", "yaml", *CLUSTER).stdout)

    assert as_json == as_yaml
    assert (as_json["apiVersion"], as_json["kind"]) == ("explain.bayplan.dev/v1alpha1", "Explanation")
    first = as_json["suggestions"][0]
    assert first["verified"] is True
    assert first["changes"] == [
        {
            "verb": "patch",
            "object": {"apiVersion": "v1", "kind": "Node", "name": "a-1"},
            "patch": {"metadata": {"labels": {"disk": "nvme"}}},
        }
    ]


def test_names_are_understood_as_kubectl_writes_them() -> None:
    expected = run("cpu", *CLUSTER).stdout

    assert run("pod/cpu", "-n", "default", *CLUSTER).stdout == expected
    assert run("default/cpu", *CLUSTER).stdout == expected


def test_environment_variables_are_never_shown(tmp_path: Path) -> None:
    """In no form, though a manifest of the pod is."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "nodeSelector": {"a": "b"},
            "containers": [{"name": "c", "image": "i", "env": [{"name": "TOKEN", "value": "s3cret"}]}],
        },
    }
    file = tmp_path / "pod.json"
    file.write_text(json.dumps(pod))

    for form in ("text", "wide", "json", "yaml"):
        assert "s3cret" not in run("p", "-o", form, "--snapshot", str(file), *CLUSTER).stdout
    assert "spec.containers[0].env" in run("p", "-o", "json", "--snapshot", str(file), *CLUSTER).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["cpuu"], 'no pod "cpuu" in the namespace default; did you mean default/cpu?', id="a typing error"
        ),
        pytest.param(["cpu", "-n", "x"], "there is default/cpu", id="another namespace"),
        pytest.param(["cpu", "--node", "a-11"], 'no node "a-11"; did you mean a-1?', id="no such node"),
        pytest.param([], "name a pod, or give workloads with -f", id="no pod"),
        pytest.param(["a/b", "-n", "c"], "give the namespace once", id="two namespaces"),
        pytest.param(["cpu", "--server", "auto"], "exclude each other", id="two sources"),
    ],
)
def test_bad_input_gets_a_clear_answer(arguments: list[str], message: str) -> None:
    result = run(*arguments, *CLUSTER)

    assert result.exit_code != 0
    assert message in result.stderr


def test_a_snapshot_cut_in_half_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "half.yaml"
    file.write_text((GUIDE / "cluster.yaml").read_text()[:-300] + "\n  broken: [")

    result = run("cpu", "--snapshot", str(file))

    assert result.exit_code == 1
    assert "was the file cut off?" in result.stderr


def test_a_cluster_that_is_down_is_told(tmp_path: Path) -> None:
    """Without a traceback."""
    kubeconfig = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    file = tmp_path / "kubeconfig"
    file.write_text(yaml.safe_dump(kubeconfig))

    result = run("p", "--kubeconfig", str(file))

    assert result.exit_code == 1
    assert "cannot read the cluster" in result.stderr


def test_workloads_are_tried_before_they_are_submitted() -> None:
    result = run("-f", str(GUIDE / "deployment.yaml"), "--snapshot", str(GUIDE / "cluster.yaml"))

    assert result.stdout.startswith("Deployment api does not fit: 4 of 6 pods do.\n\nNODE  PODS\n")
