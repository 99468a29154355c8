"""Random creations, patches, updates and applies: the embedded API server answers as the real one."""

from __future__ import annotations

import difflib
import http.client
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.api import Api, Object
from tests.e2e.binaries import chosen_release
from tests.e2e.control_plane import ControlPlane
from tests.e2e.random_objects import RandomObjects

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.api_messages import ApiRequest
from bayplan.clock import SystemClock
from bayplan.release import release_named

pytestmark = pytest.mark.e2e

PLACES = {
    "Deployment": ("apps/v1", "/apis/apps/v1/namespaces/default/deployments"),
    "ConfigMap": ("v1", "/api/v1/namespaces/default/configmaps"),
    "Service": ("v1", "/api/v1/namespaces/default/services"),
    "Node": ("v1", "/api/v1/nodes"),
    "ServiceAccount": ("v1", "/api/v1/namespaces/default/serviceaccounts"),
}
#: So many objects of each kind, and so many changes to each.
N_OBJECTS = 25
N_CHANGES = 8
_JSON = "application/json"
_APPLY = "application/apply-patch+yaml"
_PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}
#: What is each server's own.
_OWN = ("uid", "resourceVersion", "creationTimestamp", "generation", "deletionTimestamp")

Ask = Callable[[str, str, Any, str, dict[str, str]], tuple[int, Object]]


def ask_real(api: Api) -> Ask:
    def ask(method: str, path: str, body: Any, content_type: str, options: dict[str, str]) -> tuple[int, Object]:
        status, answer = api.raw(method, path, body, content_type=content_type, options=options)
        return status, json.loads(answer)

    return ask


def ask_embedded(server: ApiServer) -> Ask:
    def ask(method: str, path: str, body: Any, content_type: str, options: dict[str, str]) -> tuple[int, Object]:
        data = b"" if body is None else json.dumps(body).encode()
        query = {key: [value] for key, value in options.items()}
        answer = server.handle(ApiRequest(method, path, query, data, content_type))
        return answer.status, json.loads(answer.body)

    return ask


class Compared:
    """Both servers, asked the same."""

    def __init__(self, real: Ask, embedded: Ask) -> None:
        self._asks = (real, embedded)
        #: How many requests of which sort ended how: a test that only ever met errors would show nothing.
        self.seen: Counter[tuple[str, int]] = Counter()

    def __call__(
        self, sort: str, method: str, path: str, body: Any = None, content_type: str = _JSON, **options: str
    ) -> Object | None:
        """What both answered; None if the real server had no answer (it ends connections on some patches)."""
        try:
            (status, real), embedded = (ask(method, path, body, content_type, options) for ask in self._asks)
        except http.client.RemoteDisconnected:
            return None
        self.seen[sort, status] += 1
        told = [_essence(*each, with_owners=method == "GET") for each in ((status, real), embedded)]
        if told[0] != told[1]:
            raise AssertionError(_difference(f"{method} {path} {options} {json.dumps(body)}", *told))
        return real


def _difference(what: str, real: Object, embedded: Object) -> str:
    mine, theirs = (json.dumps(each, indent=1, sort_keys=True).splitlines() for each in (embedded, real))
    return "\n".join([what, *difflib.unified_diff(theirs, mine, "real", "embedded", lineterm="")])


def _essence(status: int, answer: Object, *, with_owners: bool) -> Object:
    if status >= 400:
        return _failure(status, answer)
    metadata = {key: value for key, value in answer["metadata"].items() if key not in _OWN}
    owners = metadata.pop("managedFields", ())
    if with_owners:
        metadata["managedFields"] = sorted(map(_manager, owners), key=json.dumps)
    return {**answer, "metadata": metadata, "code": status}


def _manager(entry: Object) -> Object:
    # As text: the order of the fields is part of it.
    return {**entry, "time": "", "fieldsV1": json.dumps(entry["fieldsV1"])}


def _failure(status: int, answer: Object) -> Object:
    details = answer.get("details") or {}
    return {
        "code": status,
        "reason": answer.get("reason"),
        "message": answer["message"] if status != 422 else "",
        "kind": details.get("kind"),
        "name": details.get("name"),
        "fields": sorted({cause["field"] for cause in details.get("causes", ())}),
    }


@pytest.fixture
def compared(start_control_plane: Callable[..., ControlPlane]) -> Compared:
    off = ("ServiceAccount", "TaintNodesByCondition", "StorageObjectInUseProtection", "PodTopologyLabels")
    plane = start_control_plane(admission_off=off)
    server = ApiServer(SystemClock(), release=release_named(chosen_release()), disabled_admission=off)
    return Compared(ask_real(plane.api), ask_embedded(server))


@pytest.mark.parametrize("kind", PLACES)
def test_random_changes(compared: Compared, kind: str) -> None:
    """Whatever is done to an object by three managers, both servers have the same object and the same owners."""
    make = RandomObjects(seed=len(kind))
    api_version, place = PLACES[kind]
    for number in range(N_OBJECTS):
        name = f"x{number}"
        identity = {"apiVersion": api_version, "kind": kind}
        current: Object | None = None
        for _ in range(N_CHANGES):
            manager = make.random.choice(["ann", "bob", "kubectl"])
            parts = make.parts(kind)
            whole = {**identity, **parts, "metadata": {**parts["metadata"], "name": name}}
            path = f"{place}/{name}"
            how = make.random.choice(["apply", "create"] if current is None else ["apply", "put", *_PATCHES])
            if how == "create":
                answer = compared(how, "POST", place, whole, fieldManager=manager)
            elif how == "apply":
                force = {"force": "true"} if make.maybe(0.5) else {}
                answer = compared(how, "PATCH", path, whole, _APPLY, fieldManager=manager, **force)
            elif how == "put":
                answer = compared(how, "PUT", path, whole, fieldManager=manager)
            else:
                patch: Any
                if how == "json":
                    patch = make.operations(kind, current or {})
                else:
                    patch = make.merge_patch(kind) if how == "merge" else make.strategic_patch(kind)
                answer = compared(how, "PATCH", path, patch, _PATCHES[how], fieldManager=manager)
            current = compared("get", "GET", path) if current or (answer or {}).get("kind") == kind else None
    for sort in ("apply", "put", *_PATCHES):
        assert compared.seen[sort, 200], f"no {sort} went through: {compared.seen}"
