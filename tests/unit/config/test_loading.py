"""The front: everything that is wrong at once, in the order of the file; what the file is; extenders."""

from __future__ import annotations

import json
import pathlib
import subprocess

import pytest
import yaml
from tests.unit.config.plugin_facts import HEAD, catalogue, facts, loaded, refusal

from bayplan.config import ConfigError, load, to_json, to_yaml
from bayplan.release import release_named
from bayplan.scheduler import default_registry


def test_everything_at_once() -> None:
    """Problems of reading, decoding, validation and of profiles come together, sorted by line."""
    text = HEAD + (
        'parallelism: "16"\n'
        "profiles:\n"
        "- schedulerName: a\n"
        "  plugins:\n"
        "    scores: {}\n"
        "    score:\n"
        "      enabled: [{name: NodeNam}]\n"
        "- schedulerName: a\n"
        "  schedulerName: b\n"
        "  pluginConfig:\n"
        "  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}\n"
        "extenders:\n"
        '- httpTimeout: "5"\n'
        "percentageOfNodesToScore: 101\n"
    )

    assert refusal(text) == [
        'scheduler.yaml:3: parallelism: the string "16" is not a whole number; write 16 without quotes',
        'scheduler.yaml:7: profiles[0].plugins.scores: unknown field; did you mean "score"?',
        'scheduler.yaml:9: profiles[0].plugins.score.enabled[0]: there is no plugin "NodeNam"; '
        'did you mean "NodeName"?',
        'scheduler.yaml:11: profiles[1].schedulerName: the key "schedulerName" is a duplicate; '
        'the first is in line 10; a mapping has each key once: merge the two into one "schedulerName"',
        "scheduler.yaml:13: profiles[1].pluginConfig[0].args.hardPodAffinityWeight: 101 is not between 0 and 100",
        'scheduler.yaml:15: extenders[0].httpTimeout: "5" is a duration without a unit; write 5s for 5 seconds',
        "scheduler.yaml:16: percentageOfNodesToScore: 101 is not between 0 and 100",
    ]


def test_what_follows_from_a_broken_value_is_not_said() -> None:
    """A value that cannot be decoded brings no further complaints about itself."""
    assert len(refusal("podInitialBackoffSeconds: 20\npodMaxBackoffSeconds: many\n")) == 1


def test_problems_are_data_too() -> None:
    """A program reads the parts, not the line."""
    with pytest.raises(ConfigError) as caught:
        load(HEAD + "paralelism: 1\n", source="s.yaml", catalogue=catalogue())

    (problem,) = caught.value.problems
    assert (problem.source, problem.line, problem.column, problem.path) == ("s.yaml", 3, 1, "paralelism")
    assert (problem.message, problem.hint) == ("unknown field", 'did you mean "parallelism"?')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("apiVersion: kubescheduler.config.k8s.io/v1\n", ["kind: a value is required"], id="no kind"),
        pytest.param(
            "{}", ["kind: a value is required", "apiVersion: a value is required"], id="nothing of the two"
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfig\n",
            ['kind: the kind "KubeSchedulerConfig" is not known', 'did you mean "KubeSchedulerConfiguration"?'],
            id="misspelt kind",
        ),
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v2\nkind: KubeSchedulerConfiguration\n",
            ['apiVersion: the apiVersion "kubescheduler.config.k8s.io/v2" is not known'],
            id="a version of the future",
        ),
        pytest.param(
            "apiVersion: 1\nkind: KubeSchedulerConfiguration\n",
            ["apiVersion: the number 1 is not a string"],
            id="a number",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Pod\n", ["this is no scheduler configuration"], id="another object altogether"
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  s.yaml: |\n    kind: KubeSchedulerConfiguration\n",
            ['4: data.s.yaml: this is a ConfigMap; its data key "s.yaml" contains a KubeSchedulerConfiguration'],
            id="a ConfigMap around it",
        ),
        pytest.param("apiVersion: v1\nkind: ConfigMap\n", ["this is a ConfigMap, not a"], id="any ConfigMap"),
    ],
)
def test_what_the_file_is(text: str, said: list[str]) -> None:
    """apiVersion and kind decide; what is not ours is refused with what it seems to be."""
    lines = "\n".join(refusal(text))

    assert all(words in lines for words in said), lines


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "s:1: kind: the file is empty"),
        ("# nothing\n", "s:1: kind: the file is empty"),
        ("- a\n", "s:1: the file contains a list"),
        ("hello\n", 's:1: the file contains the string "hello"'),
    ],
)
def test_files_that_hold_no_mapping(text: str, said: str) -> None:
    """A configuration is a mapping."""
    with pytest.raises(ConfigError, match=said):
        load(text, source="s", catalogue=catalogue())


def test_fields_are_checked_even_if_the_kind_is_wrong() -> None:
    """If the rest looks like ours, it is looked at as well."""
    lines = refusal("apiVersion: kubescheduler.config.k8s.io/v1\nkind: Scheduler\nparallelism: 0\n")

    assert [line.split(": ")[1] for line in lines] == ["kind", "parallelism"]


def test_several_documents_are_warned_about() -> None:
    """kube-scheduler reads the first and says nothing."""
    (warning,) = loaded(HEAD + "---\nfoo: [\n").warnings

    assert "only the first one is used" in str(warning)


def test_repeated_keys_in_json() -> None:
    """They are errors, except in arguments whose class nobody knows, which Go does not decode."""
    head = '"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"'
    raw = '"profiles": [{"pluginConfig": [{"name": "Mine", "args": {"a": 1, "a": 2}}]}]'

    assert "is a duplicate" in refusal(f'{{{head}, "parallelism": 1, "parallelism": 2}}')[0]
    assert loaded(f"{{{head}, {raw}}}", facts("Mine", "filter"))


def test_ignored_resources_of_extenders() -> None:
    """What an extender has the scheduler ignore replaces the ignoredResources of NodeResourcesFit."""
    result = loaded(
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [bad name]}}]}]\n"
        "extenders: [{managedResources: [{name: a.io/x, ignoredByScheduler: true}, {name: a.io/y}]}]\n"
    )

    assert result.profiles[0].args["NodeResourcesFit"].ignored_resources == ("a.io/x",)


def test_ignored_resources_need_the_plugin() -> None:
    """Without NodeResourcesFit nothing can ignore them."""
    lines = refusal(
        "profiles: [{plugins: {multiPoint: {disabled: [{name: NodeResourcesFit}]}}}]\n"
        "extenders: [{managedResources: [{name: a.io/x, ignoredByScheduler: true}]}]\n"
    )

    assert "profiles[0]: an extender has a.io/x ignoredByScheduler" in lines[0]


@pytest.mark.parametrize(
    ("extender", "said"),
    [
        (
            "{tlsConfig: {caFile: /nowhere}}",
            "tlsConfig.caFile: /nowhere cannot be read: no such file or directory",
        ),
        (
            "{tlsConfig: {insecure: true, caFile: /nowhere}}",
            "tlsConfig.insecure: insecure and a certificate authority",
        ),
        ("{tlsConfig: {serverName: x, certFile: /nowhere}}", "tlsConfig.certFile: /nowhere cannot be read"),
        ("{enableHTTPS: true, tlsConfig: {keyFile: /nowhere}}", "tlsConfig.keyFile: /nowhere cannot be read"),
        ("{tlsConfig: {caData: aGVsbG8=}}", "tlsConfig.caData: contains no valid certificate"),
        ("{tlsConfig: {certData: aGVsbG8=, keyData: aGVsbG8=}}", "tlsConfig.certData: certificate and key"),
    ],
)
def test_tls_of_extenders(extender: str, said: str) -> None:
    """What cannot work is refused before anything starts."""
    (line,) = refusal(f"extenders: [{extender}]")

    assert f"extenders[0].{said}" in line


@pytest.mark.parametrize(
    "extender",
    [
        "{tlsConfig: {certFile: /nowhere}}",
        "{enableHTTPS: true}",
        "{tlsConfig: {}}",
        "{tlsConfig: {insecure: true}}",
    ],
)
def test_tls_that_is_not_used(extender: str) -> None:
    """A certificate without a key is not read, as in kube-scheduler."""
    assert loaded(f"extenders: [{extender}]")


def test_tls_that_works(tmp_path: pathlib.Path) -> None:
    """A certificate and its key, as files or as data, and a certificate authority."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    request = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-days", "1", "-keyout"]
    subprocess.run(["openssl", *request, key, "-out", cert], check=True, capture_output=True)  # noqa: S603, S607
    pem = yaml.safe_dump(
        {"caFile": str(cert), "certFile": str(cert), "keyFile": str(key)}, default_flow_style=True
    )

    assert loaded(f"extenders: [{{tlsConfig: {pem}}}]")


def test_printing() -> None:
    """YAML and JSON hold the same; lists stand at the level of their key, keys are sorted."""
    effective = loaded("extenders: [{urlPrefix: http://x, tlsConfig: {caData: ''}}]").effective()
    text = to_yaml(effective)

    assert yaml.safe_load(text) == json.loads(to_json(effective)) == effective
    assert text.startswith("apiVersion: kubescheduler.config.k8s.io/v1\nclientConnection:\n")
    assert "extenders:\n- httpTimeout: 5s\n  tlsConfig: {}\n" in text


def test_the_effective_configuration_loads_to_itself() -> None:
    """What we print is a configuration, and means the same."""
    result = loaded(
        "profiles:\n- plugins: {score: {disabled: [{name: ImageLocality}], enabled: [{name:"
        " NodeAffinity, weight: 5}]}}\n"
    )
    again = load(to_yaml(result.effective()), source="again", catalogue=catalogue())

    assert again.expanded() == result.expanded()


GROUPS = (
    "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
    "- plugins: {podGroupPostFilter: {disabled: [{name: DynamicResources}]}}\n"
)


def test_field_of_another_release_is_unknown() -> None:
    """A field that a release brought is refused for the one before."""
    newer = load(GROUPS, source="a", catalogue=default_registry(release=release_named("1.37")))
    assert [each.name for each in newer.profiles[0].points["podGroupPostFilter"]] == ["DefaultPreemption"]
    assert newer.release.minor == "1.37"

    with pytest.raises(ConfigError) as refused:
        load(GROUPS, source="a", catalogue=default_registry(release=release_named("1.36")))
    assert str(refused.value) == (
        "a:4: profiles[0].plugins.podGroupPostFilter: unknown field; Kubernetes 1.36 does not have it"
    )
