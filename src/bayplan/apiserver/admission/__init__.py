"""The admission plugins that a cluster has by default, as far as scheduling is concerned with them.

They run in the order of kube-apiserver: all `admit` on the way to the kind's own rules, all `check` after them.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.apiserver.admission.limit_ranger import LimitRanger
from bayplan.apiserver.admission.lookup import Lookup, Plugin
from bayplan.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from bayplan.apiserver.admission.nodes_and_claims import (
    DefaultStorageClass,
    PersistentVolumeClaimResize,
    TaintNodesByCondition,
)
from bayplan.apiserver.admission.pod_defaults import DefaultTolerationSeconds, PodTopologyLabels
from bayplan.apiserver.admission.priority import Priority
from bayplan.apiserver.admission.quota import ResourceQuota
from bayplan.apiserver.admission.runtime_class import RuntimeClass
from bayplan.apiserver.admission.service_addresses import ServiceAddresses
from bayplan.apiserver.attributes import Admission, Attributes
from bayplan.apiserver.store import Store

__all__ = ["DefaultAdmission"]


class DefaultAdmission(Admission):
    """The plugins in a row."""

    def __init__(self, store: Store, *, disabled: Iterable[str] = ()) -> None:
        """*disabled* names plugins, as --disable-admission-plugins does."""
        lookup = Lookup(store)
        plugins: list[Plugin] = [
            NamespaceLifecycle(lookup),
            LimitRanger(lookup),
            TaintNodesByCondition(),
            Priority(lookup),
            DefaultTolerationSeconds(),
            PodTopologyLabels(lookup),
            DefaultStorageClass(lookup),
            PersistentVolumeClaimResize(lookup),
            RuntimeClass(lookup),
            ServiceAddresses(lookup),
            ResourceQuota(lookup),
        ]
        off = set(disabled)
        self._plugins = [plugin for plugin in plugins if plugin.name not in off]

    def admit(self, attributes: Attributes) -> None:
        for plugin in self._plugins:
            plugin.admit(attributes)

    def check(self, attributes: Attributes) -> None:
        for plugin in self._plugins:
            plugin.check(attributes)
