"""RBAC and impersonation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bayplan.apiserver.api_errors import StatusError
from bayplan.apiserver.api_server import ApiServer
from bayplan.apiserver.authorization.impersonation import acting_user
from bayplan.apiserver.transport.api_messages import ADMIN, ApiRequest, UserInfo
from bayplan.clock import SystemClock

PODS = "/api/v1/namespaces/default/pods"
READER = {
    "metadata": {"name": "reader"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
}
BINDING = {
    "metadata": {"name": "readers"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
    "subjects": [{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}],
}


@pytest.fixture
def server() -> ApiServer:
    server = ApiServer(SystemClock())
    for plural, body in (("roles", READER), ("rolebindings", BINDING)):
        path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/default/{plural}"
        assert server.handle(ApiRequest("POST", path, body=json.dumps(body).encode())).status == 201
    return server


def ask(server: ApiServer, user: UserInfo, method: str, path: str) -> tuple[int, Any]:
    answer = server.handle(ApiRequest(method, path, user=user))
    return answer.status, json.loads(answer.body)


def test_what_a_role_allows(server: ApiServer) -> None:
    """A bound role allows its verbs on its resources, in its namespace."""
    assert ask(server, UserInfo("ann"), "GET", PODS)[0] == 200


@pytest.mark.parametrize(
    ("user", "method", "path", "message"),
    [
        pytest.param(
            "bob",
            "GET",
            PODS,
            'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default"',
            id="nobody's role",
        ),
        pytest.param(
            "ann",
            "DELETE",
            f"{PODS}/p",
            'pods "p" is forbidden: User "ann" cannot delete resource "pods" in API group "" '
            'in the namespace "default"',
            id="another verb",
        ),
        pytest.param(
            "ann",
            "GET",
            "/api/v1/nodes",
            'nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster scope',
            id="another resource",
        ),
    ],
)
def test_what_no_role_allows(server: ApiServer, user: str, method: str, path: str, message: str) -> None:
    """Everything else is forbidden, in the words of kube-apiserver."""
    status, answer = ask(server, UserInfo(user), method, path)
    assert (status, answer["reason"], answer["message"]) == (403, "Forbidden", message)


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        pytest.param({}, ADMIN, id="as oneself"),
        pytest.param({b"impersonate-user": b"ann"}, UserInfo("ann", ("system:authenticated",)), id="as a user"),
        pytest.param(
            {b"impersonate-user": b"ann", b"impersonate-group": b"x\ny"},
            UserInfo("ann", ("x", "y", "system:authenticated")),
            id="with groups",
        ),
        pytest.param(
            {b"impersonate-user": b"system:serviceaccount:ns:sa"},
            UserInfo(
                "system:serviceaccount:ns:sa",
                ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
            ),
            id="as a service account",
        ),
    ],
)
def test_impersonation(headers: dict[bytes, bytes], user: UserInfo) -> None:
    """The administrator acts as the user in the headers, with that user's groups."""
    assert acting_user(ADMIN, headers) == user


@pytest.mark.parametrize(
    ("user", "headers", "code"),
    [
        pytest.param(UserInfo("ann"), {b"impersonate-user": b"bob"}, 403, id="who may not"),
        pytest.param(ADMIN, {b"impersonate-group": b"x"}, 400, id="a group without a user"),
    ],
)
def test_impersonation_is_refused(user: UserInfo, headers: dict[bytes, bytes], code: int) -> None:
    """Only the administrator may impersonate, and only a named user."""
    with pytest.raises(StatusError) as refused:
        acting_user(user, headers)
    assert refused.value.code == code
