"""The default admission plugins of kube-apiserver that matter for scheduling.

They run in kube-apiserver's order: every `admit` before the kind's own validation, every `check` after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from bayplan.apiserver.admission.limit_ranger import LimitRanger
from bayplan.apiserver.admission.lookup import AdmissionPlugin, ObjectLookup
from bayplan.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from bayplan.apiserver.admission.nodes_and_claims import (
    DefaultStorageClass,
    PersistentVolumeClaimResize,
    StorageObjectInUseProtection,
    TaintNodesByCondition,
)
from bayplan.apiserver.admission.priority import Priority
from bayplan.apiserver.admission.quota import ResourceQuota
from bayplan.apiserver.admission.runtime_class import RuntimeClass
from bayplan.apiserver.admission.service_addresses import ServiceAddresses
from bayplan.apiserver.admission.tolerations_and_topology import DefaultTolerationSeconds, PodTopologyLabels
from bayplan.apiserver.registry.attributes import Admission, AdmissionAttributes
from bayplan.apiserver.storage.versioned_store import VersionedStore

__all__ = ["DefaultAdmission"]


class DefaultAdmission(Admission):
    """Runs the admission plugins in order."""

    def __init__(self, store: VersionedStore, *, disabled: Iterable[str] = ()) -> None:
        """*disabled* names plugins, as --disable-admission-plugins does."""
        lookup = ObjectLookup(store)
        plugins: list[AdmissionPlugin] = [
            NamespaceLifecycle(lookup),
            LimitRanger(lookup),
            TaintNodesByCondition(),
            Priority(lookup),
            DefaultTolerationSeconds(),
            PodTopologyLabels(lookup),
            DefaultStorageClass(lookup),
            StorageObjectInUseProtection(),
            PersistentVolumeClaimResize(lookup),
            RuntimeClass(lookup),
            ServiceAddresses(lookup),
            ResourceQuota(lookup),
        ]
        off = set(disabled)
        self._plugins = [plugin for plugin in plugins if plugin.name not in off]

    def admit(self, attributes: AdmissionAttributes) -> None:
        for plugin in self._plugins:
            plugin.admit(attributes)

    def check(self, attributes: AdmissionAttributes) -> None:
        for plugin in self._plugins:
            plugin.check(attributes)
