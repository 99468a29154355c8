"""Release: everything that Bayplan knows of one minor release of Kubernetes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from bayplan.release.feature_gates import Gate, gate_problem, parse_gates
from bayplan.release.release_facts import ReleaseFacts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """A minor release, with the feature gates as they are set."""

    #: The patch release whose kube-scheduler and kube-apiserver were recorded, without a `v`.
    version: str
    #: The values of --min-compatibility-version with which the gates have the defaults below.
    min_compatibility: tuple[str, ...]
    #: What every profile starts with, in kube-scheduler's order, with weights (0: no weight given).
    default_plugins: tuple[tuple[str, int], ...]
    #: As kube-scheduler reports them in kubernetes_feature_enabled.
    gates: Mapping[str, Gate]
    #: Gate → the gates that must be enabled with it. Gates without dependencies are absent.
    gate_dependencies: Mapping[str, tuple[str, ...]]
    #: The gates that kube-scheduler reads. Bayplan decides as it does with these at their default.
    scheduler_gates: frozenset[str]
    #: Built-in plugin → extension points that our class has and this release's has not.
    omitted_points: Mapping[str, frozenset[str]]
    #: Built-in plugin → extension points that it has in configurations only, where with every gate at its default
    #: kube-scheduler's does nothing. Ours are not called there.
    nominal_points: Mapping[str, frozenset[str]]
    #: Plugins that kube-scheduler registers and Bayplan lacks: name → extension points, what to do instead.
    absent_plugins: Mapping[str, tuple[frozenset[str], str]]
    facts: ReleaseFacts
    #: Gates that differ from their default.
    settings: Mapping[str, bool] = field(default_factory=dict)

    @property
    def minor(self) -> str:
        """Such as 1.37."""
        return self.version.rpartition(".")[0]

    def is_enabled(self, gate: str) -> bool:
        """A gate that this release does not have is off; for one that a release removed, ask a fact."""
        if gate in self.settings:
            return self.settings[gate]
        known = self.gates.get(gate)
        return known is not None and known.default

    def with_gates(self, settings: Mapping[str, bool]) -> Release:
        """The same release with these gates set, whatever they are: for recordings and tests."""
        return dataclasses.replace(self, settings={**self.settings, **settings})

    def with_gate_flags(self, items: Iterable[str]) -> Release:
        """The same release with gates given as `Name=true`; ValueError for the first that cannot be set."""
        settings = parse_gates(items)
        for name, value in settings.items():
            problem = gate_problem(
                name, value, release=self.minor, gates=self.gates, scheduler_gates=self.scheduler_gates
            )
            if problem:
                raise ValueError(problem)
        release = self.with_gates(settings)
        for name in settings:
            if release.is_enabled(name) and (missing := release.disabled_dependencies(name)):
                raise ValueError(f"{name}=true: it depends on {', '.join(missing)}, which is off")
        return release

    def disabled_dependencies(self, gate: str) -> list[str]:
        """The gates that must be enabled with *gate*, and are not."""
        return [each for each in self.gate_dependencies.get(gate, ()) if not self.is_enabled(each)]

    def feature_gates(self) -> Iterator[tuple[str, str, bool]]:
        """(name, stage, is enabled), for kubernetes_feature_enabled."""
        return ((name, gate.stage, self.is_enabled(name)) for name, gate in self.gates.items())

    def __str__(self) -> str:
        return f"Kubernetes {self.minor}"
