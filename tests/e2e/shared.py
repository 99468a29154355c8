"""One control plane for many tests: what a test has made is swept away before the next one sees it.

A fresh control plane takes three seconds and more to start, a sweep takes a part of one. A test that wants options
of its own for the API server, or does to it what others should not see, starts its own (`start_control_plane`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.e2e.api import Api, ApiError, Object, eventually
from tests.e2e.control_plane import ControlPlane

#: What the API server keeps on making itself.
_ITS_OWN = {"/api/v1/componentstatuses", "/apis/apiregistration.k8s.io/v1/apiservices"}
_MADE_LATE = {
    *(f"/api/v1/namespaces/{name}" for name in ("default", "kube-node-lease", "kube-public", "kube-system")),
    "/api/v1/namespaces/default/services/kubernetes",
}
_AT_ONCE = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}


class SharedControlPlane:
    """Starts a control plane when one is first wanted, and another one if a test has left it broken."""

    def __init__(self, programs: Mapping[str, Path], make_folder: Callable[[], Path], **options: Any) -> None:
        """*options*: of `ControlPlane`."""
        self._programs = programs
        self._options = options
        self._make_folder = make_folder
        self._plane: ControlPlane | None = None
        #: Path of every object that was there before any test.
        self._before: set[str] = set()

    def get(self) -> ControlPlane:
        if self._plane is None:
            self._plane = ControlPlane(self._make_folder(), programs=self._programs, **self._options).__enter__()
            self._before = _when_complete(self._plane.api)
        return self._plane

    def sweep(self) -> None:
        """End what a test has started, and delete what it has made."""
        plane = self._plane
        if plane is None:
            return
        plane.end_components()
        if not (plane.etcd.running and plane.api_server.running and plane.api.ready()):
            self.close()
            return
        # Events about the sweep, objects made anew by nobody: a second look finds the rest, or nothing.
        eventually(lambda: not self._delete_new(plane.api))

    def _delete_new(self, api: Api) -> bool:
        """Whether there was anything."""
        new = [(path, found) for path, found in objects(api) if path not in self._before]
        for path, found in sorted(new, key=lambda each: each[1]["kind"] == "Namespace"):
            _delete(api, path, found)
        return bool(new)

    def close(self) -> None:
        if self._plane is not None:
            self._plane.close()
            self._plane = None


def _when_complete(api: Api) -> set[str]:
    """The paths of what a new API server makes itself, once all of it is there: some comes after it is ready."""
    found: set[str] = set()

    def is_complete() -> bool:
        nonlocal found
        before, found = found, {path for path, _ in objects(api)}
        return found == before and found >= _MADE_LATE

    eventually(is_complete, interval=1)
    return found


def objects(api: Api) -> Iterator[tuple[str, Object]]:
    """Path and object, of everything that can be listed and deleted."""
    for path, kind in api.collections("list", "delete"):
        if path in _ITS_OWN:
            continue
        for found in _listed(api, path):
            metadata = found["metadata"]
            prefix, plural = path.rsplit("/", 1)
            where = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
            yield f"{prefix}{where}/{plural}/{metadata['name']}", {**found, "kind": kind}


def _listed(api: Api, path: str) -> Sequence[Object]:
    try:
        items: Sequence[Object] = api.request("GET", path)["items"]
    except ApiError as error:
        # A kind whose definition was deleted may be discovered a little longer.
        if error.status != 404:
            raise
        return ()
    return items


def _delete(api: Api, path: str, found: Object) -> None:
    """At once, and without those who would take care of finalizers."""
    try:
        if found["metadata"].get("finalizers"):
            api.request(
                "PATCH",
                path,
                {"metadata": {"finalizers": None}},
                content_type="application/merge-patch+json",
            )
        api.request("DELETE", path, _AT_ONCE)
        if found["kind"] == "Namespace":
            api.request("PUT", f"{path}/finalize", {**found, "apiVersion": "v1", "spec": {"finalizers": []}})
    except ApiError as error:
        if error.status not in (404, 409):
            raise
