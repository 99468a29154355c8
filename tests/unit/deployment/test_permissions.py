"""Rights follow from what the configured plugins watch and write."""

from __future__ import annotations

import json
import re

import pytest

from bayplan import Plugin, config
from bayplan.core import SchedulerCore
from bayplan.deployment.permissions import Rule, cluster_rules, lease_rules, namespace_rules
from bayplan.model import ConfigMap, Secret
from bayplan.release import DEFAULT, Release, release_named
from bayplan.scheduler import default_registry, new_core

WATCH = ("list", "watch")


class ReadsFoos(Plugin):
    """Looks at objects of a custom resource."""

    name = "ReadsFoos"

    def __init__(self, args: object, handle: object) -> None:
        super().__init__(args, handle)  # type: ignore[arg-type]
        self.foos = self.handle.informers.custom("example.com/v1", "foos")

    def filter(self, state: object, pod: object, node: object) -> None:
        """Every node will do."""


class Evicts(Plugin):
    """A PostFilter of one's own."""

    name = "Evicts"

    def post_filter(self, state: object, pod: object, filtered: object) -> None:
        """Whom it may evict is not known beforehand."""


def rules_of(
    plugins: dict[str, object] | None = None, *, controllers: bool = False, args: object = None
) -> set[Rule]:
    """The rules of a profile with these `plugins`."""
    return set(cluster_rules(core_of(plugins, args=args), controllers=controllers))


def core_of(
    plugins: dict[str, object] | None = None, *, args: object = None, release: Release = DEFAULT
) -> SchedulerCore:
    registry = default_registry(release=release)
    registry.add(ReadsParts)
    registry.add(ReadsFoos)
    registry.add(Evicts)
    profile: dict[str, object] = {"plugins": plugins or {}}
    if args is not None:
        profile["pluginConfig"] = args
    text = json.dumps(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
    )
    loaded = config.load(text, source="test", catalogue=registry)
    return new_core(loaded, registry)


def enabled(*names: str) -> dict[str, object]:
    return {"multiPoint": {"enabled": [{"name": name} for name in names]}}


def only(*names: str) -> dict[str, object]:
    """These plugins and none of the default ones but those that every profile must have."""
    kept = [{"name": name} for name in ("PrioritySort", "DefaultBinder", *names)]
    return {"multiPoint": {"enabled": kept, "disabled": [{"name": "*"}]}}


def watched(rules: set[Rule]) -> dict[str, tuple[str, ...]]:
    return {rule.group: rule.resources for rule in rules if rule.verbs == WATCH}


def test_no_plugin_needs_pods_and_nodes() -> None:
    """Without plugins that read more, pods and nodes are all that is watched, and nothing is evicted."""
    rules = rules_of(only())
    assert watched(rules) == {"": ("nodes", "pods")}
    assert Rule("", ("pods",), ("delete",)) not in rules
    assert not [rule for rule in rules if "update" in rule.verbs]


@pytest.mark.parametrize(
    ("plugin", "rule"),
    [
        pytest.param("DefaultPreemption", Rule("", ("pods",), ("delete",)), id="preemption deletes pods"),
        pytest.param(
            "DefaultPreemption", Rule("policy", ("poddisruptionbudgets",), WATCH), id="and reads budgets"
        ),
        pytest.param("Evicts", Rule("", ("pods",), ("delete",)), id="so may any PostFilter"),
        pytest.param(
            "VolumeBinding",
            Rule("", ("persistentvolumeclaims", "persistentvolumes"), ("update",)),
            id="volume binding writes volumes and claims",
        ),
        pytest.param(
            "DynamicResources",
            Rule("resource.k8s.io", ("resourceclaims",), ("create", "delete", "get", "update")),
            id="devices: claims are made, protected and deleted",
        ),
        pytest.param(
            "DynamicResources",
            Rule("resource.k8s.io", ("resourceclaims/status",), ("patch", "update")),
            id="devices: claims are allocated and reserved",
        ),
        pytest.param(
            "DynamicResources",
            Rule("resource.k8s.io", ("resourceclaims/binding",), ("patch", "update")),
            id="devices: which is a right of its own",
        ),
        pytest.param("ReadsFoos", Rule("example.com", ("foos",), WATCH), id="a custom resource that is read"),
        pytest.param("Coscheduling", Rule("scheduling.x-k8s.io", ("podgroups",), WATCH), id="groups of pods"),
        pytest.param(
            "CapacityScheduling", Rule("scheduling.x-k8s.io", ("elasticquotas",), WATCH), id="elastic quotas"
        ),
        pytest.param("TargetLoadPacking", Rule("metrics.k8s.io", ("nodes",), ("list",)), id="measured load"),
    ],
)
def test_a_plugin_brings_its_rule(plugin: str, rule: Rule) -> None:
    """With the plugin the rule is there, without it is not."""
    queue_sort = plugin in ("Coscheduling",)
    plugins = only(plugin)
    if queue_sort:
        plugins["queueSort"] = {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}
    assert rule in rules_of(plugins)
    assert rule not in rules_of(only())


@pytest.mark.parametrize(
    ("release", "resources"),
    [
        ("1.36", ("deviceclasses", "resourceclaims", "resourceslices")),
        ("1.37", ("deviceclasses", "devicetaintrules", "resourceclaims", "resourceslices")),
    ],
)
def test_devices_are_read_as_the_release_has_them(release: str, resources: tuple[str, ...]) -> None:
    """What there is, who has it, and since 1.37 the rules that taint devices."""
    rules = cluster_rules(core_of(only("DynamicResources"), release=release_named(release)))
    assert Rule("resource.k8s.io", resources, WATCH) in rules


def test_claims_given_back_evict_nobody() -> None:
    """DynamicResources has a PostFilter, and no victims."""
    assert Rule("", ("pods",), ("delete",)) not in rules_of(only("DynamicResources"))


def test_other_sources_of_load_need_no_right() -> None:
    """Prometheus and load watchers are asked over HTTP, not through the API server."""
    args = [{"name": "TargetLoadPacking", "args": {"watcherAddress": "http://watcher:2020"}}]
    assert "metrics.k8s.io" not in {rule.group for rule in rules_of(only("TargetLoadPacking"), args=args)}


def test_controllers_write_status() -> None:
    """`--controllers` watches both kinds, whichever plugins there are, and writes their status and events."""
    added = rules_of(controllers=True) - rules_of()
    assert added == {
        Rule("scheduling.x-k8s.io", ("elasticquotas", "podgroups"), WATCH),
        Rule("scheduling.x-k8s.io", ("podgroups/status", "elasticquotas/status"), ("patch",)),
        Rule("", ("events",), ("create",)),
    }


def test_nothing_is_granted_twice() -> None:
    """A right that two rules grant could not be taken away with one of them."""
    granted = [
        (rule.group, resource, verb)
        for rule in rules_of(enabled("CapacityScheduling", "TargetLoadPacking", "ReadsFoos"), controllers=True)
        for resource in rule.resources
        for verb in rule.verbs
    ]
    assert len(granted) == len(set(granted))


def test_no_rule_says_everything() -> None:
    """No star, anywhere."""
    for rule in (*rules_of(controllers=True), *lease_rules("mine")):
        assert "*" not in {rule.group, *rule.resources, *rule.verbs}


def test_lease_is_named() -> None:
    """Only the one Lease is read and written; creating cannot be narrowed to a name."""
    assert [rule.names for rule in lease_rules("mine") if rule.resources == ("leases",)] == [(), ("mine",)]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param("get:secrets", Rule("", ("secrets",), ("get",)), id="core"),
        pytest.param(
            "get,patch:foos.example.com", Rule("example.com", ("foos",), ("get", "patch")), id="a group and verbs"
        ),
        pytest.param(
            "update:foos/status.example.com", Rule("example.com", ("foos/status",), ("update",)), id="subresource"
        ),
    ],
)
def test_reads_a_rule(text: str, rule: Rule) -> None:
    assert Rule.parse(text) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("secrets", "write VERBS:RESOURCE.GROUP", id="no verb"),
        pytest.param("get:", "write VERBS:RESOURCE.GROUP", id="no resource"),
        pytest.param("get:*", "write VERBS:RESOURCE.GROUP", id="everything"),
        pytest.param("read:secrets", "no verb 'read'; verbs are create, delete", id="unknown verb"),
    ],
)
def test_refuses_what_is_no_rule(text: str, message: str) -> None:
    """The message has the text and what would be right."""
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        Rule.parse(text)
    assert repr(text) in str(error.value)


class ReadsParts(ReadsFoos):
    """Looks at parts of resources."""

    name = "ReadsParts"

    def __init__(self, args: object, handle: object) -> None:
        super().__init__(args, handle)
        informers = self.handle.informers
        informers.lister(Secret, namespace="ci", fields="metadata.name=token")
        informers.on_change(Secret, lambda old, new: None, namespace="ci", labels="app=web")
        informers.lister(ConfigMap, fields="metadata.name=limits")
        informers.index("bars.v1.example.com", lambda bar: None, labels="app=web")


def test_a_part_of_a_resource_needs_no_right_to_the_rest() -> None:
    """In one namespace: a Role there. One object by name: a right to this name."""
    core = core_of(only("ReadsParts"))
    cluster = set(cluster_rules(core))
    assert Rule("example.com", ("bars", "foos"), WATCH) in cluster
    assert Rule("", ("configmaps",), WATCH, ("limits",)) in cluster
    assert not [rule for rule in cluster if "secrets" in rule.resources]
    assert namespace_rules(core) == {
        "ci": [Rule("", ("secrets",), WATCH), Rule("", ("secrets",), WATCH, ("token",))]
    }
