"""Updates that are right, late or wrong in every combination: the embedded API server answers as the real one."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.e2e.api import Object
from tests.e2e.binaries import chosen_release
from tests.e2e.control_plane import ControlPlane

from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.transport.api_messages import ApiRequest
from bayplan.clock import SystemClock
from bayplan.release import release_named

pytestmark = pytest.mark.e2e

Ask = Callable[[str, str, Any], tuple[int, Object]]
Change = Callable[[Object], object]

_POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
_SELECTED = {"selector": {"matchLabels": {"a": "b"}}, "template": _POD}
KINDS: dict[str, tuple[str, str, Object]] = {
    "ReplicaSet": ("apps/v1", "replicasets", _SELECTED),
    "Deployment": ("apps/v1", "deployments", _SELECTED),
    "StatefulSet": ("apps/v1", "statefulsets", {**_SELECTED, "serviceName": "s"}),
    "DaemonSet": ("apps/v1", "daemonsets", _SELECTED),
}
VERSIONS: dict[str, Change] = {
    "the version that is there": lambda obj: None,
    "no version": lambda obj: obj["metadata"].pop("resourceVersion"),
    "version 0": lambda obj: obj["metadata"].update(resourceVersion="0"),
    "an old version": lambda obj: obj["metadata"].update(resourceVersion="1"),
    "a version to come": lambda obj: obj["metadata"].update(resourceVersion="99999999"),
    "no number": lambda obj: obj["metadata"].update(resourceVersion="abc"),
}
CHANGES: dict[str, Change] = {
    "nothing": lambda obj: None,
    "another uid": lambda obj: obj["metadata"].update(uid="other"),
    "another name": lambda obj: obj["metadata"].update(name="zz"),
    "another namespace": lambda obj: obj["metadata"].update(namespace="other"),
    "a wrong label": lambda obj: obj["metadata"].update(labels={"a b": "c"}),
    "a wrong finalizer": lambda obj: obj["metadata"].update(finalizers=["a b"]),
    "an owner without a name": lambda obj: obj["metadata"].update(
        ownerReferences=[{"apiVersion": "", "kind": "", "name": "", "uid": ""}]
    ),
    "another time of creation": lambda obj: obj["metadata"].update(creationTimestamp="2020-01-01T00:00:00Z"),
    "no template": lambda obj: obj["spec"].pop("template"),
    "no selector": lambda obj: obj["spec"].pop("selector"),
    "a selector that finds nothing": lambda obj: obj["spec"].update(selector={"matchLabels": {"a": "z"}}),
    "a negative amount": lambda obj: obj["spec"].update(minReadySeconds=-1),
    "too many replicas in the status": lambda obj: obj["status"].update(
        replicas=1, readyReplicas=2, availableReplicas=3, updatedReplicas=4
    ),
}
#: What is each server's own.
_OWN = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}"), "UID"),
    (re.compile(r"20\d\d-\d\d-\d\dT[0-9:]+Z"), "TIME"),
)


def ask_real(plane: ControlPlane) -> Ask:
    def ask(method: str, path: str, body: Any) -> tuple[int, Object]:
        status, answer = plane.api.raw(method, path, body)
        return status, json.loads(answer)

    return ask


def ask_embedded(server: ApiServer) -> Ask:
    def ask(method: str, path: str, body: Any) -> tuple[int, Object]:
        answer = server.handle(ApiRequest(method, path, body=b"" if body is None else json.dumps(body).encode()))
        return answer.status, json.loads(answer.body)

    return ask


def answers(ask: Ask, kind: str) -> Iterator[tuple[str, int, str]]:
    """What was asked, the status, and why it was refused."""
    api_version, plural, spec = KINDS[kind]
    path = f"/apis/{api_version}/namespaces/default/{plural}"
    for number, (version, date) in enumerate(VERSIONS.items()):
        for change, alter in CHANGES.items():
            name = f"{kind.lower()}-{number}-{change.replace(' ', '-')}"
            made = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
            assert ask("POST", path, made)[0] == 201
            for subresource in ("", "/status"):
                obj = copy.deepcopy(ask("GET", f"{path}/{name}", None)[1])
                date(obj)
                alter(obj)
                status, answer = ask("PUT", f"{path}/{name}{subresource}", obj)
                why = str(answer["message"]) if status >= 400 else ""
                for own, shown in _OWN:
                    why = own.sub(shown, why)
                yield f"{version}, {change}{subresource}", status, why


@pytest.mark.parametrize("kind", KINDS)
def test_updates(control_plane: ControlPlane, kind: str) -> None:
    """The same status, and the same words."""
    real = list(answers(ask_real(control_plane), kind))
    embedded = list(answers(ask_embedded(ApiServer(SystemClock(), release=release_named(chosen_release()))), kind))

    assert {200, 409, 422, 500} <= {status for _, status, _ in real}
    assert embedded == real
