"""Events of controllers and kubelets as core/v1 Events with a source, as kube-controller-manager writes them."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any, Final

from bayplan.client import ApiError, KubeClient, TransportError
from bayplan.client.event_series import UniqueTimestamps, event_name
from bayplan.framework import Clock
from bayplan.model.times import format_time

logger = logging.getLogger("bayplan.controllers")

NORMAL: Final = "Normal"
WARNING: Final = "Warning"


def reference(obj: dict[str, Any], api_version: str, kind: str) -> dict[str, Any]:
    """The reference to the object that an event is about."""
    meta = obj["metadata"]
    parts = {
        "apiVersion": api_version,
        "kind": kind,
        "namespace": meta.get("namespace"),
        "name": meta["name"],
        "uid": meta.get("uid"),
        "resourceVersion": meta.get("resourceVersion"),
    }
    return {key: value for key, value in parts.items() if value}


class CoreEventRecorder:
    """Writes events; a failed write is ignored."""

    def __init__(self, client: KubeClient, clock: Clock, component: str) -> None:
        self._client = client
        self._clock = clock
        self._component = component
        self._numbers = UniqueTimestamps(component)

    async def emit(
        self, about: dict[str, Any], reason: str, message: str, *, host: str = "", type: str = NORMAL
    ) -> None:
        """*about* is an object reference, see `reference`."""
        seconds = self._clock.now()
        now = format_time(datetime.fromtimestamp(seconds, UTC))
        namespace = about.get("namespace") or "default"
        source = {"component": self._component, **({"host": host} if host else {})}
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": event_name(about["name"], self._numbers.next(seconds)), "namespace": namespace},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": type,
            "reportingComponent": self._component,
            "reportingInstance": host,
        }
        try:
            await self._client.create_core_event(namespace, event)
        except (ApiError, TransportError) as error:
            logger.info("An event about %s was not written: %s", about["name"], error)
