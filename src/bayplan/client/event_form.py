"""An Event of events.k8s.io as it is written, field by field in the order in which it is sent."""

from __future__ import annotations

import msgspec

from bayplan.model import KubeObject


class ObjectReference(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, gc=False):
    """Exactly this version of an object; what is empty is left out."""

    kind: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class EventMeta(msgspec.Struct, gc=False):
    name: str
    namespace: str


class Event(msgspec.Struct, rename="camel", gc=False):
    """An event that is new: series are added to its JSON."""

    api_version: str
    kind: str
    metadata: EventMeta
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: ObjectReference
    note: str
    type: str
    related: ObjectReference | msgspec.UnsetType = msgspec.UNSET


def reference(value: KubeObject) -> ObjectReference:
    """An ObjectReference to exactly this version of *value*."""
    meta = value.metadata
    return ObjectReference(
        value.KIND, meta.namespace, meta.name, meta.uid, value.API_VERSION, meta.resource_version
    )
