"""`bayplan extender serve`: what it refuses, and what it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from bayplan.cli import main

EXAMPLE = Path(__file__).parents[4] / "examples" / "01-label-filter" / "cpu_nodes.py"
PLUGIN = f"--plugin={EXAMPLE}:CpuNodes"
CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: other
- schedulerName: mine
  plugins: {multiPoint: {enabled: [{name: CpuNodes}]}}
"""


def serve(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["extender", "serve", *arguments], prog_name="bayplan")
    return result.exit_code, result.output


def printed(*arguments: str) -> dict[str, Any]:
    code, output = serve(PLUGIN, "--print-config", *arguments)
    assert code == 0, output
    (extender,) = yaml.safe_load(output)["extenders"]
    return dict(extender)


def test_the_stanza_is_printed() -> None:
    """For a plugin that only filters; nodes come with the requests."""
    assert printed("--port=9000") == {
        "urlPrefix": "http://127.0.0.1:9000",
        "filterVerb": "filter",
        "nodeCacheCapable": False,
        "ignorable": False,
        "httpTimeout": "5s",
    }


def test_a_self_signed_certificate_is_made_once(tmp_path: Path) -> None:
    """What is printed is what will be served with."""
    first = printed(f"--self-signed={tmp_path}", "--url=https://extender.example")
    again = printed(f"--self-signed={tmp_path}", "--url=https://extender.example")

    assert first == again
    assert (first["enableHTTPS"], first["tlsConfig"]["serverName"]) == (True, "localhost")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param([], "give --plugin FILE:Class", id="nothing to serve"),
        pytest.param(["--plugin=nowhere.py:X"], "nowhere.py", id="a file that is not there"),
        pytest.param(["--plugin=NodeNam"], "did you mean NodeName", id="an unknown name"),
        pytest.param([PLUGIN, "--client-ca-file=x"], "needs HTTPS", id="client certificates without TLS"),
        pytest.param(
            [PLUGIN, "--tls-cert-file=x", "--client-ca-file=y"], "one of them is missing", id="a certificate alone"
        ),
        pytest.param([PLUGIN, "--token-file=/not/there"], "cannot read the token: /not/there", id="no token"),
        pytest.param([PLUGIN, "--kubeconfig=/not/there"], "/not/there", id="no kubeconfig"),
        pytest.param([PLUGIN, "--config=CONFIG"], "'other' does not enable CpuNodes", id="not enabled"),
        pytest.param([PLUGIN, "--config=CONFIG", "--profile=x"], "there are other, mine", id="no such profile"),
    ],
)
def test_what_cannot_be_served(arguments: list[str], words: str, tmp_path: Path) -> None:
    """Said before anything listens, and what would be right."""
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    code, output = serve(*(each.replace("CONFIG", str(file)) for each in arguments))

    assert code != 0
    assert words in output


def test_args_and_weights_come_from_a_configuration(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text(CONFIGURATION)

    assert printed(f"--config={file}", "--profile=mine")["filterVerb"] == "filter"
