"""The flags of `bayplan run` are kube-scheduler's: each is honoured, without effect, or refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bayplan import config
from bayplan.cli import main
from bayplan.cli.flags.flag import HONOURED, NO_EFFECT, REFUSED, Flag
from bayplan.cli.flags.flag_table import BY_NAME, FLAGS, GROUPS
from bayplan.cli.flags.flag_values import FlagValues
from bayplan.cli.flags.go_parsing import READERS, go_text
from bayplan.cli.run import command
from bayplan.config import Loaded
from bayplan.observe.klog import VModule
from bayplan.release import DEFAULT
from bayplan.scheduler import default_registry

ROOT = Path(__file__).parents[3]
RECORDED: dict[str, dict[str, dict[str, Any]]] = {
    surface["version"]: surface["flags"]
    for surface in map(
        json.loads,
        (file.read_text() for file in sorted((ROOT / "tests" / "parity" / "golden").glob("surface-*.json"))),
    )
}
#: Where ours has another default, on purpose.
OTHER_DEFAULTS = {"bind-address"}


def values(*arguments: str) -> FlagValues:
    """The flags as the command reads them."""
    context = command.make_context("run", list(arguments))
    given = {name: value for name, value in context.params.items() if name not in ("policy", "plugins")}
    return FlagValues(given)


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return config.default(default_registry())


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["run", *arguments], prog_name="bayplan")
    return result.exit_code, result.output


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", RECORDED)
def test_table_has_the_flags_of_kube_scheduler(release: str) -> None:
    """All of them, and no others."""
    assert {*BY_NAME, "help", "version"} == set(RECORDED[release])


@pytest.mark.parametrize("release", RECORDED)
@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: str(flag.name))
def test_flag_is_as_recorded(flag: Flag, release: str) -> None:
    """Its type, its default, whether it is deprecated; and what is not honoured has a reason."""
    seen = RECORDED[release][flag.name]

    assert flag.kind == seen["type"]
    assert flag.deprecated == seen["deprecated"]
    if flag.name not in OTHER_DEFAULTS:
        assert go_text(flag.default) in (seen["default"], "", "false", "0", "[]")
    assert flag.treatment in (HONOURED, NO_EFFECT, REFUSED)
    assert flag.treatment == HONOURED or flag.note


def test_docs_list_every_flag() -> None:
    """docs/flags.md has the table as it is here."""
    text = (ROOT / "docs" / "flags.md").read_text()

    missing = [line for line in doc_lines() if line not in text]

    assert not missing, "docs/flags.md lacks:\n" + "\n".join(missing)


def doc_lines() -> list[str]:
    """The lines of docs/flags.md, group by group."""
    lines = []
    for group in GROUPS:
        lines.append(f"## {group}")
        lines += [doc_line(flag) for flag in FLAGS if flag.group == group]
    return lines


def doc_line(flag: Flag) -> str:
    default = go_text(flag.default)
    shown = f"`{default}`" if default not in ("", "[]", "false") else ""
    meaning = "" if flag.treatment != HONOURED else flag.help
    note = f"{flag.note[:1].upper()}{flag.note[1:]}." if flag.note else ""
    return (
        f"| `--{flag.name}` | {shown} | {flag.treatment} | {' '.join(part for part in (meaning, note) if part)} |"
    )


def test_help_is_in_groups() -> None:
    """Every flag is there, under its heading."""
    status, text = run("--help")

    assert status == 0
    assert all(f"{group} flags:\n" in text for group in (*GROUPS, "Bayplan"))
    assert all(f"--{name}" in text for name in BY_NAME)


# --- values as Go reads them ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "name", "value"),
    [
        (["--leader-elect=false"], "leader-elect", False),
        (["--leader-elect"], "leader-elect", True),
        (["--leader_elect=F"], "leader-elect", False),
        (["--v=3"], "v", 3),
        (["-v=4"], "v", 4),
        (["-v5"], "v", 5),
        (["--v", "6"], "v", 6),
        (["--authorization-always-allow-paths=/a,/b", "--authorization-always-allow-paths=/c"],
         "authorization-always-allow-paths", ("/a", "/b", "/c")),
        (["--kube-api-qps=0.5"], "kube-api-qps", 0.5),
        (["--bind-address=::1"], "bind-address", "::1"),
        (["--secure-port=0"], "secure-port", 0),
        ([], "secure-port", 10259),
        (["--feature-gates=A=true,B=false"], "feature-gates", ("A=true", "B=false")),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else None,
)  # fmt: skip
def test_values_are_read_as_go_reads_them(arguments: list[str], name: str, value: object) -> None:
    """Booleans without a value, lists that add up, short and long."""
    assert values(*arguments)[name] == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("bool", "yes"),
        ("int", "1.5"),
        ("float32", "x"),
        ("duration", "5"),
        ("ip", "localhost"),
        ("Level", "-1"),
        ("quantity", "much"),
    ],
)
def test_wrong_values_are_refused(kind: str, text: str) -> None:
    """With what is wrong about them."""
    with pytest.raises(ValueError, match=text):
        READERS[kind](text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--leader-elct"], "No such option '--leader-elct'. (Did you mean one of: '--leader-elect'"),
        (["--schedulr-name=x"], "No such option '--schedulr-name'."),
        (["--leader-elect-lease-duration=5"], "without a unit; write 5s for 5 seconds"),
        (["--leader-elect=maybe"], '"maybe" is not true or false'),
        (["--tls-curve-preferences=23"], "--tls-curve-preferences is refused: Python's ssl module"),
        (["--requestheader-allowed-names=a"], "--requestheader-allowed-names is refused: authenticating proxies"),
        (["--logging-format=xml"], "--logging-format=xml is invalid; use text or json"),
        (["--tls-min-version=VersionTLS10"], "use VersionTLS12 or VersionTLS13"),
        (["--tls-cipher-suites=ROT13"], "ROT13 is not supported"),
        (["--leader-elect-resource-lock=configmaps"], "use leases"),
        (
            ["--emulated-version=1.36,1.37"],
            "--emulated-version=1.36,1.37 is refused: give one version",
        ),
        (
            ["--emulated-version=1.37", "--min-compatibility-version=1.37"],
            "--min-compatibility-version=1.37 is refused: for Kubernetes 1.37 it is 1.36",
        ),
        (
            ["--emulated-version=1.35"],
            "--emulated-version=1.35 is refused: Kubernetes 1.35 is not supported; supported are 1.36 and 1.37",
        ),
        (["--feature-gates=GenericWorkload=true"], "--feature-gates: GenericWorkload=true: Bayplan decides"),
        (["--vmodule=attempts"], "--vmodule: attempts is not pattern=N"),
        (["--secure-port=70000"], "is not a valid port"),
        (["--leader-elect-lease-duration=1s"], "with these flags leaderElection.leaseDuration"),
        (["positional"], "Got unexpected extra argument (positional)"),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else None,
)
def test_what_cannot_be_is_refused(arguments: list[str], message: str) -> None:
    """With status 2, before anything starts."""
    status, output = run(*arguments, "--write-config-to=/dev/null")

    assert status == 2
    assert message in output.replace("\n", " ")


# --- what follows from them -------------------------------------------------------------------------


def test_the_lease_is_the_flags_to_say(loaded: Loaded) -> None:
    """They change the configuration, and it is checked again."""
    flags = values("--leader-elect=false", "--leader-elect-resource-name=mine", "--leader-elect-lease-duration=1m")
    changed = flags.apply_to(loaded).config.leader_election

    assert not changed.leader_elect
    assert (changed.resource_name, str(changed.lease_duration), changed.resource_namespace) == (
        "mine",
        "1m0s",
        "kube-system",
    )


def test_deprecated_flags_count_without_a_file(loaded: Loaded) -> None:
    """With --config they do not, but for a kubeconfig that nothing else names."""
    given = ["--kube-api-qps=7", "--kube-api-burst=8", "--kubeconfig=k", "--profiling=false"]
    alone = values(*given).apply_to(loaded).config
    beside = values(*given, "--config=x").apply_to(loaded).config

    assert (alone.client_connection.qps, alone.client_connection.burst, alone.enable_profiling) == (7, 8, False)
    assert (beside.client_connection.qps, beside.client_connection.burst) == (50, 100)
    assert (alone.client_connection.kubeconfig, beside.client_connection.kubeconfig) == ("k", "k")


def test_settings_follow_the_flags(loaded: Loaded) -> None:
    """Each lands where it belongs."""
    settings = values(
        "--bind-address=0.0.0.0", "--secure-port=1234", "--cert-dir=/c", "--permit-port-sharing",
        "--authentication-skip-lookup", "--authentication-token-webhook-cache-ttl=1m",
        "--authorization-kubeconfig=/k", "--pod-max-in-unschedulable-pods-duration=90s",
        "--logging-format=json", "--log-json-split-stream", "-v=4", "--vmodule=attempts=5,queue*=6",
        "--disabled-metrics=a,b", "--master=https://api", "--contention-profiling=false",
    ).settings(loaded)  # fmt: skip

    assert settings.serving is not None
    assert (settings.serving.address, settings.serving.port, settings.serving.cert_dir) == ("0.0.0.0", 1234, "/c")  # noqa: S104
    assert settings.serving.reuse_port
    assert not settings.serving.look_up_client_ca
    assert settings.access.token_ttl_seconds == 60
    assert settings.access.authorization_kubeconfig == "/k"
    assert settings.max_unschedulable_seconds == 90
    assert (settings.log.form, settings.log.split_stream, settings.log.verbosity) == ("json", True, 4)
    assert settings.log.modules == (VModule("attempts", 5), VModule("queue*", 6))
    assert settings.disabled_metrics == ("a", "b")
    assert settings.master == "https://api"
    assert settings.flags["authentication-token-webhook-cache-ttl"] == "1m0s"
    assert settings.flags["authorization-always-allow-paths"] == "[/healthz,/readyz,/livez]"
    assert settings.without_effect.keys() == {"--contention-profiling"}


def test_port_zero_serves_nothing(loaded: Loaded) -> None:
    """--secure-port=0."""
    assert values("--secure-port=0").settings(loaded).serving is None


def test_configuration_is_written_and_that_is_all(tmp_path: Path) -> None:
    """--write-config-to: the effective configuration, flags included, and no cluster is looked for."""
    file = tmp_path / "effective.yaml"

    assert run(f"--write-config-to={file}", "--leader-elect=false") == (0, "")

    assert "leaderElect: false" in file.read_text()
    assert config.load(file.read_text(), source="x", catalogue=default_registry()).profiles


@pytest.mark.parametrize("flag", ["--version", "--version=true", "--version=raw"])
def test_version_is_ours_and_kubernetes(flag: str) -> None:
    """Which scheduler, and whose language it speaks."""
    status, output = run(flag)

    assert status == 0
    assert f"Kubernetes v{DEFAULT.version}" in output


def test_values_that_are_the_default_are_never_refused() -> None:
    """A flag that is refused may stand in a manifest with its default."""
    flags = values("--requestheader-username-headers=x-remote-user", "--tls-sni-cert-key=")

    assert isinstance(flags, FlagValues)
    with pytest.raises(click.UsageError):
        values("--requestheader-username-headers=x-other")
