"""The body of a new events.k8s.io Event: typed fields in the order in which they are sent."""

from __future__ import annotations

import msgspec

from bayplan.model import KubeObject


class EventTarget(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True, gc=False):
    """A reference to one version of an object; empty fields are omitted."""

    kind: str
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class EventMetadata(msgspec.Struct, gc=False):
    name: str
    namespace: str


class EventBody(msgspec.Struct, rename="camel", gc=False):
    """An event that is new: a series is added to its JSON later."""

    api_version: str
    kind: str
    metadata: EventMetadata
    event_time: str
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: EventTarget
    note: str
    type: str
    related: EventTarget | msgspec.UnsetType = msgspec.UNSET


def event_target(value: KubeObject) -> EventTarget:
    """A reference to this version of *value*."""
    meta = value.metadata
    return EventTarget(value.KIND, meta.namespace, meta.name, meta.uid, value.API_VERSION, meta.resource_version)
